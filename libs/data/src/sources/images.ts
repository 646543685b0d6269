/** Reader of a folder of PNG and JPEG: a class a sub-folder, or a table of names and labels beside them. */
import { readFile, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, normalize, sep } from 'node:path';
import { refuseChoice, refuseData } from '../errors.js';
import * as limits from '../limits.js';
import { decodePicture, type Picture } from '../images/decode.js';
import { resize } from '../images/resize.js';
import { start, type Cell, type DataSource } from '../source.js';
import { openCsv } from './csv.js';

export interface ImageOptions {
  /** Height and width; others are resized. Absent: all must have the size of the first. */
  readonly size?: readonly [number, number];
  /** 1: grey, 3: colour. Absent: as the first is stored. */
  readonly channels?: 1 | 3;
  /** Table with columns `file` and `label`, or whose first two columns these are. Absent: names of sub-folders. */
  readonly labels?: string;
}

interface Entry {
  /** Path within the folder. */
  readonly name: string;
  readonly label: string;
}

const isPicture = /\.(png|jpe?g)$/i;
const sideMax = 4_096;

/** @throws DataError DATA_IMAGE, DATA_IMAGE_SIZE, DATA_PATH, DATA_EMPTY, DATA_LIMIT; ConfigurationError DATA_CHOICE */
export async function openImages(folder: string, options: ImageOptions = {}): Promise<DataSource> {
  const root = await realpath(folder);
  const file = basename(root);
  const passedOver: string[] = [];
  const entries =
    options.labels === undefined ? await inFolders(root, file, passedOver) : await inTable(options.labels, file);
  if (entries.length === 0) {
    const action = 'put pictures into a sub-folder for each class, or name a table of labels';
    refuseData('DATA_EMPTY', { file }, { expected: 'PNG or JPEG files', got: 'none', action });
  }
  const first = await pictureOf(root, file, entries[0]!, 1);
  const [height, width] = options.size ?? [first.height, first.width];
  const channels = options.channels ?? (first.isGrey ? 1 : 3);
  if (![height, width].every((side) => Number.isInteger(side) && side >= 1 && side <= sideMax)) {
    refuseChoice('DATA_CHOICE', `sides of 1 to ${sideMax}`, `${height}×${width}`, 'ask for a size');
  }
  const fit = options.size === undefined ? 'exact' : 'stretch';
  const unnamed = options.labels === undefined ? 0 : await unnamedIn(root, entries);
  let [transparent, coloured] = [0, 0];
  const { mtimeMs } = await stat(root);
  const listed = JSON.stringify([root, mtimeMs, entries.length, entries[0], entries.at(-1), height, width, channels]);
  return {
    ...{ kind: 'images', file, bytes: entries.length, unit: 'rows', fingerprint: listed },
    columns: [
      { name: 'image', tensor: { kind: 'image', dtype: 'uint8', shape: [height, width, channels], fit } },
      { name: 'label', tensor: null },
    ],
    notes: () => [
      ...(passedOver.length === 0
        ? []
        : [`${passedOver.length} files are no PNG or JPEG: ${passedOver.slice(0, 5).join(', ')}`]),
      ...(unnamed === 0 ? [] : [`${unnamed} pictures of the folder stand in no row of the table of labels`]),
      ...(coloured === 0 ? [] : [`${coloured} pictures in colour were read as grey, which the first one is`]),
      ...(transparent === 0
        ? []
        : [`${transparent} pictures have transparent pixels, which were read as they are stored`]),
    ],
    async *rows(from = start) {
      // The same pictures are read more than once.
      if (from.row === 0) [transparent, coloured] = [0, 0];
      const perBatch = Math.max(1, Math.min(256, Math.floor(limits.batchBytes / (height * width * channels))));
      for (let at = from.row; at < entries.length; at += perBatch) {
        const rows: Cell[][] = [];
        for (const [offset, entry] of entries.slice(at, at + perBatch).entries()) {
          const picture = await pictureOf(root, file, entry, at + offset + 1);
          if (hasTransparency(picture)) transparent += 1;
          if (channels === 1 && options.channels === undefined && !picture.isGrey) coloured += 1;
          if (fit === 'exact')
            checkSize(picture, [height, width], { file: `${file}/${entry.name}`, row: at + offset + 1 });
          const pixels = pixelsOf(picture, channels);
          rows.push([resize(pixels, [picture.height, picture.width], [height, width], channels), entry.label]);
        }
        yield { rows, first: at + 1, next: { row: at + rows.length, byte: at + rows.length } };
      }
    },
  };
}

function checkSize(
  { height, width }: Picture,
  size: readonly [number, number],
  place: { file: string; row: number },
): void {
  if (height === size[0] && width === size[1]) return;
  refuseData('DATA_IMAGE_SIZE', place, {
    expected: `${size[0]}×${size[1]} pixels (height × width), as the first picture has`,
    got: `${height}×${width}`,
    action: 'give a size to which all are resized',
  });
}

async function inFolders(root: string, file: string, passedOver: string[]): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const inside = await readdir(root, { withFileTypes: true });
  for (const one of inside.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!one.isDirectory()) {
      if (!one.name.startsWith('.')) passedOver.push(one.name);
      continue;
    }
    const names = (await readdir(join(root, one.name))).toSorted();
    for (const name of names) {
      if (isPicture.test(name)) entries.push({ name: `${one.name}/${name}`, label: one.name });
      else if (!name.startsWith('.')) passedOver.push(`${one.name}/${name}`);
    }
    if (entries.length > limits.picturesMax) {
      refuseData(
        'DATA_LIMIT',
        { file },
        {
          expected: `at most ${limits.picturesMax} pictures`,
          got: entries.length,
          action: 'use fewer',
        },
      );
    }
  }
  return entries;
}

async function inTable(path: string, folder: string): Promise<readonly Entry[]> {
  const table = await openCsv(path, path.endsWith('.tsv') ? 'tsv' : 'csv');
  const names = table.columns.map(({ name }) => name.toLowerCase());
  const [file, label] =
    names.includes('file') && names.includes('label') ? [names.indexOf('file'), names.indexOf('label')] : [0, 1];
  if (names.length < 2)
    refuseData(
      'DATA_COLUMN_MISSING',
      { file: table.file },
      { expected: 'columns file and label', got: names.join(), action: 'add them' },
    );
  const entries: Entry[] = [];
  for await (const { rows, first } of table.rows()) {
    for (const [offset, row] of rows.entries()) {
      const name = String(row[file]).trim();
      if (name === '' || name.includes('\0')) {
        refuseData(
          'DATA_PATH',
          { file: table.file, row: first + offset },
          {
            expected: `the name of a picture in ${folder}`,
            got: name,
            action: 'mend the row',
          },
        );
      }
      entries.push({ name, label: String(row[label]).trim() });
    }
  }
  return entries;
}

async function unnamedIn(root: string, entries: readonly Entry[]): Promise<number> {
  const named = new Set(entries.map(({ name }) => normalize(name)));
  const all = await readdir(root, { recursive: true });
  return all.filter((name) => isPicture.test(name) && !named.has(name)).length;
}

/** Reads nothing outside of the folder, wherever links lead. */
async function pictureOf(root: string, file: string, { name }: Entry, row: number): Promise<Picture> {
  const place = { file: `${file}/${name}`, row };
  const path = await realpath(join(root, name)).catch(() => null);
  if (path === null) {
    refuseData('DATA_PATH', place, { expected: 'a picture', got: 'no such file', action: 'mend the name' });
  }
  if (!path.startsWith(root + sep)) {
    refuseData('DATA_PATH', place, {
      expected: 'a file inside the folder',
      got: 'one outside',
      action: 'copy it into the folder',
    });
  }
  const found = await stat(path);
  if (!found.isFile() || found.size > limits.pictureBytesMax) {
    refuseData('DATA_LIMIT', place, {
      expected: `a file of at most ${limits.pictureBytesMax} bytes`,
      got: found.size,
      action: 'make the picture smaller',
    });
  }
  return decodePicture(await readFile(path), place);
}

function hasTransparency({ rgba }: Picture): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return true;
  return false;
}

/** Grey is (299·red + 587·green + 114·blue + 500)/1000, rounded down. */
function pixelsOf({ rgba, width, height }: Picture, channels: number): Uint8Array {
  const pixels = new Uint8Array(width * height * channels);
  for (let i = 0; i < width * height; i++) {
    const [r, g, b] = [rgba[4 * i]!, rgba[4 * i + 1]!, rgba[4 * i + 2]!];
    if (channels === 1) pixels[i] = Math.floor((299 * r + 587 * g + 114 * b + 500) / 1000);
    else pixels.set([r, g, b], 3 * i);
  }
  return pixels;
}
