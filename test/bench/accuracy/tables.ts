/** Tables of numbers as records of 16-bit features, in folds. */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { shuffledIndices, type NetExamples } from '#libs/step';
import { fetchedPath, shipped } from './files.js';

export interface Table {
  readonly features: readonly (readonly number[])[];
  /** Classes, or 0 and 1, or real numbers. */
  readonly targets: readonly (readonly number[])[];
}

interface Fold {
  readonly train: NetExamples;
  readonly test: NetExamples;
  /** Standard deviation of a real target; 1 of others. */
  readonly unit: number;
}

const fraction = 12;
const species = ['Adelie', 'Chinstrap', 'Gentoo'];
const measures = ['beak_length_mm', 'beak_depth_mm', 'flipper_length_mm', 'body_mass_g'];

export function penguins(): Table {
  const rows = penguinRows(measures);
  return { features: rows.map(measured), targets: rows.map((row) => [species.indexOf(row.species!)]) };
}

/** Sex, and a bit for each species. */
export function penguinFacts(): Table {
  const rows = penguinRows([...measures, 'sex']);
  const facts = (row: Row) => [row.sex?.toLowerCase() === 'female', ...species.map((one) => one === row.species)];
  return { features: rows.map(measured), targets: rows.map((row) => facts(row).map(Number)) };
}

/** Its head counts rows and columns. */
export const breastCancer = (): Table =>
  lastColumn(parse(readFileSync(fetchedPath('breast_cancer.csv')), { from_line: 2 }));

export const boston = (): Table => lastColumn(parse(readFileSync(fetchedPath('boston.csv')), { from_line: 2 }));

/** Every row is tested in one of five folds; features, and targets where they are real, are standardised by the rest. */
export function foldsOf({ features, targets }: Table, seed: string, real: boolean): readonly Fold[] {
  const order = [...shuffledIndices(seed, features.length)];
  const size = Math.floor(features.length / 5);
  return Array.from({ length: 5 }, (_, fold) => {
    const isTested = (at: number) => at >= fold * size && at < (fold + 1) * size;
    const tested = order.filter((_, at) => isTested(at));
    const trained = order.filter((_, at) => !isTested(at));
    const of = (rows: readonly (readonly number[])[], indices: readonly number[]) => indices.map((i) => rows[i]!);
    const byFeature = scalesOf(of(features, trained));
    const byTarget = real ? scalesOf(of(targets, trained)) : undefined;
    const examples = (indices: readonly number[]): NetExamples => ({
      count: indices.length,
      features: Int16Array.from(standardised(of(features, indices), byFeature)),
      labels: Int32Array.from(byTarget ? standardised(of(targets, indices), byTarget) : of(targets, indices).flat()),
    });
    return { train: examples(trained), test: examples(tested), unit: byTarget?.[0]!.scale ?? 1 };
  });
}

interface Scale {
  readonly center: number;
  readonly scale: number;
}

function scalesOf(rows: readonly (readonly number[])[]): readonly Scale[] {
  return rows[0]!.map((_, column) => {
    const center = rows.reduce((sum, row) => sum + row[column]!, 0) / rows.length;
    const variance = rows.reduce((sum, row) => sum + (row[column]! - center) ** 2, 0) / rows.length;
    return { center, scale: Math.sqrt(variance) || 1 };
  });
}

/** libs/step/DATA.md: `CLAMP(floor((v − center)/scale·2^frac + 1/2), 16 bits)`. */
function standardised(rows: readonly (readonly number[])[], scales: readonly Scale[]): number[] {
  const whole = (value: number, { center, scale }: Scale) =>
    Math.min(2 ** 15 - 1, Math.max(-(2 ** 15), Math.floor(((value - center) / scale) * 2 ** fraction + 0.5)));
  return rows.flatMap((row) => row.map((value, column) => whole(value, scales[column]!)));
}

type Row = Readonly<Record<string, string>>;

/** Rows that have all these columns. */
function penguinRows(wanted: readonly string[]): readonly Row[] {
  const rows = ['penguins.csv', 'new-penguins.csv'].flatMap((file) =>
    parse<Row>(readFileSync(shipped(`table-classes/${file}`)), { columns: true }),
  );
  return rows.filter((row) => wanted.every((name) => row[name] !== ''));
}

const measured = (row: Row): number[] => measures.map((name) => Number(row[name]));

function lastColumn(rows: readonly (readonly string[])[]): Table {
  const numbers = rows.map((row) => row.map(Number));
  return { features: numbers.map((row) => row.slice(0, -1)), targets: numbers.map((row) => [row.at(-1)!]) };
}
