import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeData, openSource, type Choices, type Share } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-choose-'));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;

type Described = Awaited<ReturnType<typeof describeData>>;

/** @param line cells of a row by its number */
async function described(
  names: string,
  line: (row: number) => readonly (string | number)[],
  choices: Choices = {},
  { rows = 40, validation = 0 }: { rows?: number; validation?: number | Share } = {},
): Promise<Described> {
  const path = join(folder, `${made++}.csv`);
  writeFileSync(path, `${names}\n${Array.from({ length: rows }, (_, i) => line(i).join()).join('\n')}\n`);
  const source = await openSource(path);
  return describeData({
    source,
    validation,
    seed: `0x${'5a'.repeat(32)}`,
    choices,
    folder: join(folder, `w${made}`),
  });
}

const kindsIn = ({ header }: Described): readonly string[] => header.columns.map(({ name, kind }) => `${name} ${kind}`);

it('guesses a column that is called as a method of every object is, beside one whose kind is named', async () => {
  const line = (i: number): (string | number)[] => [i / 2, i % 3, ['w', 'l'][i % 2]!];
  const seen = await described('hasOwnProperty,team,constructor', line, {
    ...{ label: ['constructor'], kinds: { team: 'category' } },
  });
  expect(kindsIn(seen)).toEqual(['hasOwnProperty number', 'team category']);
});

it('keeps a share of the rows apart that have a label', async () => {
  const line = (i: number): (string | number)[] => [i, i % 10 === 0 ? 'a' : i % 10 === 7 ? 'b' : ''];
  const asked = (validation: number | Share): Promise<Described> =>
    described('x,y', line, { missingLabel: 'drop' }, { rows: 400, validation });
  expect(await asked({ percent: 10 })).toMatchObject({ train: 72, validation: 8, dropped: 320 });
  expect(await asked({ percent: 0.5, least: 1 })).toMatchObject({ train: 79, validation: 1 });
  await expect(asked({ percent: 100 })).rejects.toMatchObject({
    code: 'DATA_CHOICE',
    detail: {
      expected: expect.stringMatching(/^0 to 79 validation rows of 80 with a label/),
      ...{ got: '80', action: 'choose fewer' },
    },
  });
  await expect(asked(0.2)).rejects.toMatchObject({
    detail: { action: 'say a number of rows, or a share such as 20%' },
  });
});

it('says that many columns of small whole numbers are taken as they are, and makes numbers of them when asked', async () => {
  const names = Array.from({ length: 64 }, (_, i) => `q${i}`);
  const line = (row: number): (string | number)[] => [...names.map((_, i) => (row * 7 + i * i) % 2), 'ab'[row % 2]!];
  const asked = (kinds: Choices['kinds'] = {}): Promise<Described> =>
    described([...names, 'label'].join(), line, { kinds });
  const pixels = await asked();
  expect(pixels.header.features).toEqual({ dtype: 'uint8', shape: [64], frac: 8 });
  expect(pixels.notes).toContainEqual(
    expect.stringMatching(/^64 columns .* from "q0" on are taken as they are.*--number/),
  );
  const numbers = await asked({ q3: 'number' });
  expect(numbers.header.features).toEqual({ dtype: 'int16', shape: [64], frac: 12 });
  expect(new Set(numbers.header.columns.map(({ kind }) => kind))).toEqual(new Set(['number']));
  expect(numbers.notes.join()).not.toContain('as they are');
});

it('measures a column of tiny numbers', async () => {
  const cells = (row: number): (string | number)[] => [`${(row % 4) - 1.5}e-300`, `${1 + (row % 2)}e-140`, 3, '5e200'];
  const line = (row: number): (string | number)[] => [...cells(row), `${5 + 2 * (row % 2)}e-315`, row % 2];
  const { header, notes } = await described('a,b,same,large,least,label', line);
  const [a, b, same, large, least] = header.columns.map((column) => (column.kind === 'number' ? column : null));
  expect([large!.scale, least!.scale / 1e-315]).toEqual([1, expect.closeTo(1, 6)]);
  expect(same).toMatchObject({ center: 3, scale: 1 });
  expect([a!.center * 1e300, b!.center * 1e140]).toEqual([expect.closeTo(0, 12), expect.closeTo(1.5, 12)]);
  expect([a!.scale * 1e300, b!.scale * 1e140]).toEqual([expect.closeTo(Math.sqrt(1.25), 12), expect.closeTo(0.5, 12)]);
  expect(notes).toEqual(['same', 'large'].map((name) => `column "${name}" is the same in all training rows`));
});

it('says how a table without names is read where a column is called by its place', async () => {
  const line = (row: number): number[] => [row, row * row, row % 2];
  const asked = (label: string): Promise<Described> => described('3,9,1', line, { label: [label] });
  const action = expect.stringContaining('no line of names, say --no-names') as unknown;
  await expect(asked('c3')).rejects.toMatchObject({ code: 'DATA_COLUMN_MISSING', detail: { action } });
  const spelling = expect.stringMatching(/^check the spelling; a name that a plan has/) as unknown;
  await expect(asked('c4')).rejects.toMatchObject({ detail: { action: spelling } });
});

it('says what to do where the label is the only column', async () => {
  await expect(described('y', (i) => [i])).rejects.toMatchObject({
    code: 'DATA_CHOICE',
    detail: { expected: expect.stringMatching(/beside the label "y"/), action: expect.stringContaining('add columns') },
  });
});

it('says which column has the name of the gaps of another', async () => {
  await expect(described('age,age?,label', (i) => [i % 5 ? i : '', i, i % 2])).rejects.toMatchObject({
    code: 'DATA_COLUMN_TWICE',
    detail: { expected: expect.stringContaining('"age?" says whether "age", which has gaps, is missing') },
  });
});

it('guesses categories of several labels of texts, and asks where they are numbers and texts', async () => {
  const line = (i: number): (string | number)[] => [i, 'xyz'[i % 3]!, 'pqr'[(i + 1) % 3]!, i % 7];
  const { header } = await described('a,t,u,n', line, { label: ['t', 'u'], drop: ['n'] });
  expect(header.label).toMatchObject({ kind: 'vector', count: 6 });
  const { header: numbers } = await described('a,t,u,n', line, { label: ['a', 'n'] });
  expect(numbers.label).toMatchObject({ kind: 'real', count: 2 });
  await expect(described('a,t,u,n', line, { label: ['n', 't'] })).rejects.toMatchObject({
    ...{ code: 'DATA_LABEL', detail: { got: '"n" of numbers, "t" of texts' } },
  });
});

it('says of a class that is called NA that it counts as missing', async () => {
  const said = '"NA" in row 2 of column "label" counts as missing: where it is a value, spell it otherwise';
  const line = (i: number): (string | number)[] => [i, i % 2 ? 'NA' : 'EU'];
  await expect(described('a,label', line, { missingLabel: 'drop' })).rejects.toMatchObject({
    ...{ code: 'DATA_LABEL', detail: { got: 'EU', action: expect.stringContaining(said) } },
  });
  const three = (i: number): (string | number)[] => [i, ['EU', 'NA', 'US', ''][i % 4]!];
  const { notes } = await described('a,label', three, { missingLabel: 'drop' });
  expect(notes).toEqual([expect.stringContaining(said)]);
  const unnamed = await described('a,label', (i) => [i, ['EU', '', 'US'][i % 3]!], { missingLabel: 'drop' });
  expect(unnamed.notes).toEqual([]);
});

it('says so of a category, too, and of no number', async () => {
  const line = (i: number): (string | number)[] => [
    i % 5 === 0 ? 'NA' : i,
    ['DE', 'NA', 'FR'][i % 3]!,
    i % 2 ? 'yes' : 'no',
  ];
  const { notes } = await described('age,country,label', line);
  expect(notes.filter((note) => note.includes('counts as missing'))).toEqual([
    '"NA" in row 2 of column "country" counts as missing: where it is a value, spell it otherwise, such as "NA." or in words',
  ]);
});

it('counts cells that are missing, unseen or out of range, and labels that no answer reaches', async () => {
  // Of 4,000 rows one lies 60 deviations out, in a feature and in the label.
  const line = (i: number): (string | number)[] => [
    i === 7 ? 1e6 : i % 10,
    i % 100 === 3 ? '' : i % 3,
    i === 5 ? 1e6 : i % 7,
  ];
  const { notes } = await described('a,b,price', line, { label: ['price'], task: 'real' }, { rows: 4_000 });
  expect(notes).toEqual([
    'missing cells: 40 in column "b"',
    'numbers too far out for the integers of a record, which count as the farthest: 1 in column "a"',
    expect.stringMatching(/^answers for "price" end at -126\d{3} and 126\d{3}: 1 of its labels is beyond$/),
  ]);
});

it('lists all columns of texts in one refusal, with the option that drops them beside others', async () => {
  const line = (i: number): (string | number)[] => [
    ...[`k${i}`, `w${i}`, `2026-01-${10 + (i % 20)} ${10 + (i >> 2)}:${10 + i}`, i % 5],
    'ab'[i % 2]!,
  ];
  await expect(described('id,full name,signup,x,label', line, { drop: ['id'] })).rejects.toMatchObject({
    code: 'DATA_COLUMN_KIND',
    detail: {
      got: 'others in 2: full name, signup',
      action: expect.stringMatching(
        /^"full name" has 40 different texts; "signup" has dates, .*hour; .* drop them all: --drop id "full name" signup$/,
      ),
    },
  });
});

it('names so many columns of texts that a person reads them, and how many there are', async () => {
  const names = Array.from({ length: 60 }, (_, i) => `t${i}`);
  const line = (i: number): (string | number)[] => [...names.map((name) => `${name} ${i}`), 'ab'[i % 2]!];
  await expect(described(`${names.join(',')},label`, line)).rejects.toMatchObject({
    detail: { action: expect.stringMatching(/--drop t0 t1 .* t49, and 10 more of them$/) as unknown },
  });
});

it('refuses whole numbers that float64 would round, but as categories', async () => {
  const line = (i: number): (string | number)[] => [i === 9 ? '9007199254740993' : '9007199254740992', 'ab'[i % 2]!];
  await expect(described('n,label', line)).rejects.toMatchObject({
    ...{ code: 'DATA_NUMBER', place: { row: 10, column: 'n' } },
    detail: { got: '9007199254740993', action: expect.stringContaining('--drop n') },
  });
  const { header } = await described('n,label', line, { kinds: { n: 'category' } });
  expect(header.columns).toMatchObject([{ values: ['9007199254740992', '9007199254740993'] }]);
  const floats = await described('n,label', (i) => [i % 2 ? '0.1234567890123456789012' : '1e100', 'ab'[i % 2]!], {});
  expect(floats.header.columns).toHaveLength(1);
});
