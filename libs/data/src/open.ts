/** Opens a file or folder by what it is. */
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { refuseChoice } from './errors.js';
import type { DataSource } from './source.js';
import { openCsv, type CsvOptions } from './sources/csv.js';
import { openIdx } from './sources/idx.js';
import { openImages, type ImageOptions } from './sources/images.js';
import { openJsonl } from './sources/jsonl.js';
import { openNpy, openNpz, type ArrayNames } from './sources/npy.js';
import { openParquet } from './sources/parquet.js';
import { openText, type TextOptions } from './sources/text.js';

interface SourceOptions extends CsvOptions, ImageOptions, TextOptions {
  /** Folder of pictures: a table; NPY and IDX: the file of labels. */
  readonly labels?: string;
  /** NPZ: what is read of it; absent: all arrays, under their own names. */
  readonly arrays?: ArrayNames;
}

/** @throws ConfigurationError DATA_FILE, DATA_KIND, DATA_CHOICE; DataError DATA_* of the format */
export async function openSource(path: string, options: SourceOptions = {}): Promise<DataSource> {
  const found = await stat(path).catch(() => null);
  if (found === null) refuseChoice('DATA_FILE', 'a file or folder that can be read', path, 'check the path');
  if (found.isDirectory() || /\.(png|jpe?g)$/i.test(path)) return openImages(path, options);
  if (/(^|[.-])idx3([.-]|$)/.test(basename(path))) return openIdx(path, options.labels, options.hasLabels);
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  switch (ending) {
    case 'csv':
    case 'tsv':
      return openCsv(path, ending, options);
    case 'parquet':
      return openParquet(path);
    case 'npy':
      return openNpy(path, options.labels);
    case 'npz':
      return openNpz(path, options.arrays);
    case 'idx':
      return openIdx(path, options.labels, options.hasLabels);
    case 'jsonl':
    case 'ndjson':
      return options.textField === undefined ? openJsonl(path) : openText(path, options);
    case 'txt':
    case 'text':
      return openText(path, options);
    default:
      return refuseChoice(
        'DATA_KIND',
        'csv, tsv, parquet, npy, npz, jsonl, txt, idx, a picture or a folder of pictures',
        path,
        'rename or convert it',
      );
  }
}
