/** Which pictures are read, and their labels: of a folder for each class, of a table, or, where nobody asks for labels, all. */
import { readdir } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { refuseData } from '../errors.js';
import * as limits from '../limits.js';
import { openCsv } from './csv.js';

export interface Entry {
  /** Path within the folder. */
  readonly name: string;
  /** '' where nobody asks for labels. */
  readonly label: string;
}

interface Listed {
  readonly entries: readonly Entry[];
  /** What of the folder was passed over, in words with counts. */
  readonly notes: readonly string[];
}

const isPicture = /\.(png|jpe?g)$/i;
const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

/**
 * @param root of the folder @param shown the folder as the user names it @param file its name
 * @throws DataError DATA_EMPTY, DATA_LABEL, DATA_NESTED, DATA_LIMIT
 */
export async function inClasses(root: string, shown: string, file: string): Promise<Listed> {
  const entries: Entry[] = [];
  const [others, loose, inner]: [string[], string[], string[]] = [[], [], []];
  for (const one of (await readdir(root, { withFileTypes: true })).toSorted(byName)) {
    if (!one.isDirectory()) {
      if (isPicture.test(one.name)) loose.push(one.name);
      else if (!one.name.startsWith('.')) others.push(one.name);
      continue;
    }
    for (const own of (await readdir(join(root, one.name), { withFileTypes: true })).toSorted(byName)) {
      const name = `${one.name}/${own.name}`;
      if (own.isDirectory()) inner.push(name);
      else if (isPicture.test(own.name)) entries.push({ name, label: one.name });
      else if (!own.name.startsWith('.')) others.push(name);
    }
    checkCount(entries, file);
  }
  if (entries.length === 0 && loose.length > 0) refuseLoose(file, loose);
  if (entries.length === 0 && (await havePictures(root, inner))) refuseNested(file, shown, inner);
  return {
    entries,
    notes: [
      ...noted(others, 'files are no PNG or JPEG'),
      ...noted(loose, "pictures lie in no class's folder"),
      ...noted(inner, "folders inside a class's folder were not read"),
    ],
  };
}

/** Pictures of a folder at any depth, its own before those of its folders. @throws DataError DATA_LIMIT */
export async function atAnyDepth(root: string, file: string): Promise<Listed> {
  const entries: Entry[] = [];
  const others: string[] = [];
  const read = async (below: string): Promise<void> => {
    const inside = (await readdir(join(root, below), { withFileTypes: true })).toSorted(byName);
    const seen = inside.filter(({ name }) => !name.startsWith('.'));
    for (const one of seen.filter((own) => !own.isDirectory())) {
      if (isPicture.test(one.name)) entries.push({ name: below + one.name, label: '' });
      else others.push(below + one.name);
    }
    checkCount(entries, file);
    for (const one of seen) if (one.isDirectory()) await read(`${below}${one.name}/`);
  };
  await read('');
  return { entries, notes: noted(others, 'files are no PNG or JPEG') };
}

/** @param path of the table @throws DataError DATA_COLUMN_MISSING, DATA_PATH, and those of a table */
export async function inTable(path: string, root: string, folder: string, hasLabels: boolean): Promise<Listed> {
  const table = await openCsv(path, path.endsWith('.tsv') ? 'tsv' : 'csv');
  const names = table.columns.map(({ name }) => name.toLowerCase());
  const isNamed = names.includes('file') && (names.includes('label') || !hasLabels);
  const [file, label] = isNamed ? [names.indexOf('file'), names.indexOf('label')] : [0, 1];
  if (hasLabels && names.length < 2)
    refuseData(
      'DATA_COLUMN_MISSING',
      { file: table.file },
      { expected: 'columns file and label', got: names.join(), action: 'add them; predict alone needs no labels' },
    );
  const entries: Entry[] = [];
  for await (const { rows, first } of table.rows()) {
    for (const [offset, row] of rows.entries()) {
      const name = String(row[file]).trim();
      if (name === '' || name.includes('\0')) {
        refuseData(
          'DATA_PATH',
          { file: table.file, row: first + offset },
          { expected: `the name of a picture in ${folder}`, got: name, action: 'mend the row' },
        );
      }
      entries.push({ name, label: hasLabels ? String(row[label]).trim() : '' });
    }
  }
  const named = new Set(entries.map(({ name }) => normalize(name)));
  const all = await readdir(root, { recursive: true });
  const unnamed = all.filter((name) => isPicture.test(name) && !named.has(name)).length;
  const note = `${unnamed} pictures of the folder stand in no row of the table of labels`;
  return { entries, notes: unnamed === 0 ? [] : [note] };
}

function noted(names: readonly string[], what: string): readonly string[] {
  return names.length === 0 ? [] : [`${names.length} ${what}: ${names.slice(0, 5).join(', ')}`];
}

async function havePictures(root: string, folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) {
    if ((await readdir(join(root, folder))).some((name) => isPicture.test(name))) return true;
  }
  return false;
}

function checkCount(entries: readonly Entry[], file: string): void {
  if (entries.length <= limits.picturesMax) return;
  refuseData(
    'DATA_LIMIT',
    { file },
    { expected: `at most ${limits.picturesMax} pictures`, got: entries.length, action: 'use fewer' },
  );
}

function refuseLoose(file: string, loose: readonly string[]): never {
  return refuseData(
    'DATA_LABEL',
    { file },
    {
      expected: 'a label for each picture',
      got: `${loose.length} pictures without one, first ${loose[0]}`,
      action:
        'put them into a sub-folder for each class, or name a table with columns file and label (--labels); predict alone needs no labels',
    },
  );
}

/** Of sets, one that is trained on and others to measure on. */
const trained = /^train(ing)?$/i;

function refuseNested(file: string, shown: string, inner: readonly string[]): never {
  const tops = [...new Set(inner.map((name) => name.split('/', 1)[0]!))];
  const path = (name: string): string => join(shown, name);
  const train = tops.find((name) => trained.test(name));
  const [other] = tops.filter((name) => name !== train);
  const measured = other === undefined ? '' : `, and measure on ${path(other)} by evaluate`;
  const apart = other === undefined ? '' : `; dataset seal takes it with --validation ${path(other)}`;
  const [only] = tops.length === 1 ? tops : [];
  const moved = 'put all pictures of a class into its folder, or name a table with columns file and label (--labels)';
  return refuseData(
    'DATA_NESTED',
    { file },
    {
      expected: 'pictures in a sub-folder for each class',
      got: `folders in them: ${inner.slice(0, 4).join(', ')}${inner.length > 4 ? ' …' : ''}`,
      action:
        train !== undefined
          ? `train on ${path(train)} (--from of model init)${measured}${apart}`
          : only !== undefined
            ? `name the folder that has the classes: ${path(only)}`
            : moved,
    },
  );
}
