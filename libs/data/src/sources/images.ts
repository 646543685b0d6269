/** Reader of PNG and JPEG: a folder of them, or one file where nobody asks for labels. */
import { createHash } from 'node:crypto';
import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { refuseChoice, refuseData } from '../errors.js';
import * as limits from '../limits.js';
import { decodePicture, type Picture } from '../images/decode.js';
import { resize } from '../images/resize.js';
import { start, type Cell, type DataSource } from '../source.js';
import { atAnyDepth, inClasses, inTable, type Entry } from './picture-list.js';

export interface ImageOptions {
  /** Height and width; others are resized. Absent: all must have the size of the first. */
  readonly size?: readonly [number, number];
  /** 1: grey, 3: colour. Absent: as the first is stored. */
  readonly channels?: 1 | 3;
  /** Table with columns `file` and `label`, or whose first two columns these are. Absent: names of sub-folders. */
  readonly labels?: string;
  /** false: nobody asks for labels. A single picture, a folder of them at any depth, and a table of names alone are read too. */
  readonly hasLabels?: boolean;
}

const sideMax = 4_096;

interface Pictures {
  /** Folder that nothing leads out of. */
  readonly root: string;
  readonly file: string;
  readonly entries: readonly Entry[];
  readonly notes: readonly string[];
  /** Table that names the pictures. */
  readonly table?: string;
}

async function picturesOf(path: string, options: ImageOptions): Promise<Pictures> {
  const { labels, hasLabels = true } = options;
  const real = await realpath(path);
  const file = basename(real);
  if ((await stat(real)).isFile()) {
    if (hasLabels || labels !== undefined) refuseSingle(file, hasLabels);
    return { root: dirname(real), file, entries: [{ name: file, label: '' }], notes: [] };
  }
  if (labels !== undefined)
    return { root: real, file, ...(await inTable(labels, real, file, hasLabels)), table: basename(labels) };
  return { root: real, file, ...(hasLabels ? await inClasses(real, path, file) : await atAnyDepth(real, file)) };
}

function refuseSingle(file: string, hasLabels: boolean): never {
  const expected = hasLabels
    ? 'a folder of labelled pictures in place'
    : 'the folder that the table names pictures of, in place';
  const action = hasLabels
    ? 'put pictures into a sub-folder for each class, or name a table (--labels); predict alone needs no labels'
    : 'name the folder, or leave --labels out';
  return refuseData('DATA_LABEL', { file }, { expected, got: 'one picture', action });
}

/**
 * @throws DataError DATA_IMAGE, DATA_IMAGE_SIZE, DATA_PATH, DATA_EMPTY, DATA_LABEL, DATA_NESTED, DATA_LIMIT;
 *   ConfigurationError DATA_CHOICE
 */
export async function openImages(path: string, options: ImageOptions = {}): Promise<DataSource> {
  const { entries, notes, ...listed } = await picturesOf(path, options);
  const { root, file } = listed;
  const hasLabels = options.hasLabels !== false;
  if (entries.length === 0) {
    const action = hasLabels ? 'put pictures into a sub-folder for each class' : 'name a folder of pictures';
    refuseData('DATA_EMPTY', { file }, { expected: 'PNG or JPEG files', got: 'none', action });
  }
  const first = await pictureOf(listed, entries[0]!, 1);
  const [height, width] = options.size ?? [first.height, first.width];
  const channels = options.channels ?? (first.isGrey ? 1 : 3);
  if (![height, width].every((side) => Number.isInteger(side) && side >= 1 && side <= sideMax)) {
    refuseChoice('DATA_CHOICE', `sides of 1 to ${sideMax}`, `${height}×${width}`, 'ask for a size');
  }
  const fit = options.size === undefined ? 'exact' : 'stretch';
  let [transparent, coloured, deep] = [0, 0, 0];
  const seen = JSON.stringify([root, await stateOf(root, entries), height, width, channels]);
  return {
    ...{ kind: 'images', file, bytes: entries.length, unit: 'rows', fingerprint: seen },
    columns: [
      { name: 'image', tensor: { kind: 'image', dtype: 'uint8', shape: [height, width, channels], fit } },
      ...(hasLabels ? [{ name: 'label', tensor: null }] : []),
    ],
    notes: () => [
      ...notes,
      ...(coloured === 0 ? [] : [`${coloured} pictures in colour were read as grey, which ${greyOf(options)} is`]),
      ...(deep === 0 ? [] : [`${deep} pictures of 16 bits a sample were read as the nearest of 8 bits`]),
      ...(transparent === 0
        ? []
        : [`${transparent} pictures have transparent pixels, which were read as they are stored`]),
    ],
    async *rows(from = start) {
      // The same pictures are read more than once.
      [transparent, coloured, deep] = (from.counted ?? [0, 0, 0]) as [number, number, number];
      const perBatch = Math.max(1, Math.min(256, Math.floor(limits.batchBytes / (height * width * channels))));
      for (let at = from.row; at < entries.length; at += perBatch) {
        const rows: Cell[][] = [];
        for (const [offset, entry] of entries.slice(at, at + perBatch).entries()) {
          const picture = await pictureOf(listed, entry, at + offset + 1);
          if (hasTransparency(picture)) transparent += 1;
          if (picture.isDeep) deep += 1;
          if (channels === 1 && !picture.isGrey) coloured += 1;
          if (fit === 'exact') checkSize(picture, [height, width], { file: pathOf(file, entry), row: at + offset + 1 });
          const pixels = resize(
            pixelsOf(picture, channels),
            [picture.height, picture.width],
            [height, width],
            channels,
          );
          rows.push(hasLabels ? [pixels, entry.label] : [pixels]);
        }
        const files = entries.slice(at, at + rows.length).map(({ name }) => name);
        const next = { row: at + rows.length, byte: at + rows.length, counted: [transparent, coloured, deep] };
        yield { rows, files, first: at + 1, next };
      }
    },
  };
}

const statsAtOnce = 64;

/** Of all pictures: names, labels, and what tells of a change. One that is not there is refused when it is read. */
async function stateOf(root: string, entries: readonly Entry[]): Promise<string> {
  const state = createHash('sha256');
  for (let at = 0; at < entries.length; at += statsAtOnce) {
    const some = entries.slice(at, at + statsAtOnce);
    const found = await Promise.all(some.map(({ name }) => changesOf(join(root, name))));
    some.forEach(({ name, label }, i) => state.update(`${JSON.stringify([name, label, ...found[i]!])}\n`));
  }
  return state.digest('hex');
}

/** Of a file, and of one that a link leads to. */
async function changesOf(path: string): Promise<readonly number[]> {
  const own = await lstat(path).catch(() => null);
  const target = own?.isSymbolicLink() === true ? await stat(path).catch(() => null) : null;
  return [own, target].flatMap((one) => (one === null ? [] : [one.size, one.mtimeMs]));
}

function greyOf({ channels }: ImageOptions): string {
  return channels === undefined ? 'the first one' : 'what was asked for';
}

/** A single picture is its own file. */
function pathOf(file: string, { name }: Entry): string {
  return name === file ? file : `${file}/${name}`;
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

/** Reads nothing outside of the folder, wherever links lead. */
async function pictureOf(
  { root, file, table }: Pick<Pictures, 'root' | 'file' | 'table'>,
  entry: Entry,
  row: number,
): Promise<Picture> {
  const place = { file: pathOf(file, entry), row };
  const path = await realpath(join(root, entry.name)).catch(() => null);
  if (path === null) {
    refuseData('DATA_PATH', place, {
      expected: 'a picture',
      got: 'no such file',
      action: table === undefined ? 'mend the name' : `mend row ${row} of ${table}, which names it, or add the picture`,
    });
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
