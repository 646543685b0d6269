/** A user's file as features of a trained model. */
import { join } from 'node:path';
import { netRecordLayout, splitNetRecords, type NetExamples, type NetManifest } from '#libs/step';
import { checkMeant, openData, type DataOptions, type Source } from './data.js';
import { tokenizerName, type ModelFolder } from './folder.js';

interface Opening extends DataOptions {
  /** Folder of the model. */
  readonly model: string;
  readonly data: string;
}

/**
 * The file, cut by the model's own tokenizer where it is text.
 *
 * @param want features alone: pictures need no labels
 */
export async function openedFor(
  { header, tokenizer }: ModelFolder,
  opening: Opening,
  want: 'features' | 'records',
): Promise<Source> {
  const { model, data, ...own } = opening;
  const [first] = header.columns;
  const [length, , channels] = header.features.shape;
  const reading = {
    ...(header.features.dtype === 'tokens' && { tokens: String(length), task: 'language' as const }),
    // Of JSON lines the member that the model learned from, unless the user names another.
    ...(first?.kind === 'text' && /\.(jsonl|ndjson)$/i.test(data) && { textField: first.name }),
    ...(tokenizer !== undefined && { tokenizer: join(model, tokenizerName) }),
    ...(first?.kind === 'image' && first.fit === 'stretch' && { size: String(length) }),
    ...own,
  };
  const source = await openData(data, reading, {
    hasLabels: want === 'records',
    ...((channels === 1 || channels === 3) && { channels }),
  });
  checkMeant(source, own);
  return source;
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
