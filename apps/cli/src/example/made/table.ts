/** A made table as two CSV files: one to train on, one with a fifth as many rows to test on. */
import { join } from 'node:path';
import { writeWhole } from '#libs/client/files';

const testShare = 5;

/** @param row cells of one row, none of which needs quotes */
export function writeTables(
  folder: string,
  names: readonly string[],
  rows: number,
  row: () => readonly unknown[],
): void {
  for (const [file, count] of [
    ['train.csv', rows],
    ['test.csv', Math.ceil(rows / testShare)],
  ] as const) {
    const lines = Array.from({ length: count }, () => row().join(','));
    writeWhole(join(folder, file), `${[names.join(','), ...lines].join('\n')}\n`);
  }
}
