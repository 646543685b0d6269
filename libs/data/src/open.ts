/** Opens a file or folder by what it is. */
import { stat } from 'node:fs/promises';
import { refuseChoice } from './errors.js';
import type { DataSource } from './source.js';
import { openCsv, type CsvOptions } from './sources/csv.js';

type SourceOptions = CsvOptions;

/** @throws ConfigurationError DATA_FILE, DATA_KIND; DataError DATA_* of the format */
export async function openSource(path: string, options: SourceOptions = {}): Promise<DataSource> {
  const found = await stat(path).catch(() => null);
  if (found === null) refuseChoice('DATA_FILE', 'a file or folder that can be read', path, 'check the path');
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  switch (ending) {
    case 'csv':
    case 'tsv':
      return openCsv(path, ending, options);
    default:
      return refuseChoice('DATA_KIND', 'csv or tsv', path, 'rename or convert the file');
  }
}
