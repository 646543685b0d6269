/** A user's file as features of a trained model. */
import { join } from 'node:path';
import { netRecordLayout, splitNetRecords, type NetExamples, type NetManifest } from '#libs/step';
import { openData, type DataOptions, type Source } from './data.js';
import { tokenizerName, type ModelFolder } from './folder.js';

interface Opening extends DataOptions {
  /** Folder of the model. */
  readonly model: string;
  readonly data: string;
}

/** The file, cut by the model's own tokenizer where it is text. */
export async function openedFor({ header, tokenizer }: ModelFolder, opening: Opening): Promise<Source> {
  const { model, data, ...own } = opening;
  const isText = header.features.dtype === 'tokens';
  const side =
    header.columns[0]?.kind === 'image' && header.columns[0].fit === 'stretch' ? header.features.shape[0] : undefined;
  return openData(data, {
    ...(isText && { tokens: String(header.features.shape[0]), task: 'language' as const }),
    ...(tokenizer !== undefined && { tokenizer: join(model, tokenizerName) }),
    ...(side !== undefined && { size: String(side) }),
    ...own,
  });
}

/** @param bytes features of `rows` records, without labels */
export function featuresFrom(m: NetManifest, bytes: Uint8Array, rows: number): NetExamples['features'] {
  const { featureBytes, recordBytes } = netRecordLayout(m);
  const records = new Uint8Array(rows * recordBytes);
  for (let row = 0; row < rows; row++) {
    records.set(bytes.subarray(row * featureBytes, (row + 1) * featureBytes), row * recordBytes);
  }
  return splitNetRecords(m, records).features;
}
