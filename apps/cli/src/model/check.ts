/** `veritrain model check`: is a manifest sound, what does it cost, and can its steps be proved? */
import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { to0x } from '#attestation/base';
import { readJson } from '#libs/client/files';
import { estimate } from '#libs/models';
import { checkHeaderFits, manifestDigest, netProvability, parseNetManifest } from '#libs/step';
import { openData, recordsOf, usage, type DataOptions } from './data.js';
import { dataBeside, finishModel, startHeader, tokenizerName } from './folder.js';
import { workingFolder } from './working-folder.js';

export interface CheckOptions extends DataOptions {
  readonly data?: string;
  readonly pricePerHour?: string;
}

export async function checkModel(path: string, options: CheckOptions): Promise<CheckedModel> {
  finishModel(dirname(path));
  const m = parseNetManifest(readJson(path));
  const costs = estimate(m);
  const reasons = netProvability(m);
  const rows = options.data === undefined ? null : await rowsOf(path, options.data, options);
  const price = options.pricePerHour === undefined ? null : (amount(options.pricePerHour) * costs.seconds) / 3600;
  return {
    ...{ digest: to0x(manifestDigest(m)), steps: m.steps, batch: m.batch, ...costs, price, rows },
    evidence: reasons.length === 0 ? 'a step proof may cover it' : 'attested only',
    ...{ reasons },
  };

  async function rowsOf(manifest: string, data: string, own: DataOptions): Promise<CheckedModel['rows']> {
    const beside = join(dirname(manifest), tokenizerName);
    const reading = { ...dataBeside(manifest), ...(existsSync(beside) && { tokenizer: beside }), ...own };
    const { path: work, drop } = workingFolder('check');
    try {
      const source = await openData(data, reading);
      const { header, train, validation } = await recordsOf(source, reading, m.seed, work, startHeader(manifest, m));
      checkHeaderFits(m, header);
      return { train: train.count, validation: validation?.count ?? 0 };
    } finally {
      drop();
    }
  }
}

export interface CheckedModel {
  readonly digest: string;
  readonly steps: number;
  readonly batch: number;
  readonly parameters: number;
  readonly memoryBytes: number;
  readonly seconds: number;
  readonly slowSeconds: number;
  /** In the unit of the price an hour; null where none was named. */
  readonly price: number | null;
  readonly rows: { readonly train: number; readonly validation: number } | null;
  readonly evidence: string;
  readonly reasons: readonly string[];
}

function amount(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw usage('--price-per-hour as a number of 0 or more', text);
}
