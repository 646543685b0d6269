/** `veritrain model init`: looks at the data and writes a manifest for it. */
import { join } from 'node:path';
import { Rejection, to0x } from '#attestation/base';
import type { ColumnUse } from '#libs/data';
import { estimate, planModel } from '#libs/models';
import { manifestDigest } from '#libs/step';
import { headerOf, openData, type DataOptions } from './data.js';
import { makePlanFolder, tokenizerName, writePlan } from './folder.js';
import { readingOf, wishOf, type WishOptions } from './wish.js';
import { workingFolder } from './working-folder.js';
import { type Watch } from '#libs/client';
import { writeWhole } from '#libs/client/files';

export interface InitOptions extends DataOptions, WishOptions {
  readonly from: string;
  readonly out: string;
}

interface InitReport {
  readonly out: string;
  readonly digest: string;
  readonly plan: object;
  /** The choices, a sentence each; and what the data has that a reader should know. */
  readonly why: readonly string[];
  readonly notes: readonly string[];
  /** Whether a plan stood in the folder before. */
  readonly replaced: boolean;
  /** What each column becomes, in the order of the file. */
  readonly columns: readonly ColumnUse[];
  /** Rows without a label. */
  readonly dropped: number;
  readonly parameters: number;
  /** On one thread, an estimate. */
  readonly seconds: number;
}

/** A rate that no range rule allows is what was asked for, in the words of whoever asked. */
function planned(wish: Parameters<typeof planModel>[0]): ReturnType<typeof planModel> {
  try {
    return planModel(wish);
  } catch (error) {
    if (wish.lr === undefined || !(error instanceof Rejection) || !error.code.startsWith('STEP_RANGE_')) throw error;
    throw new Rejection(error.code, { ...error.detail, action: `choose a lower --lr than ${wish.lr}` });
  }
}

/** @param watch of the reading of the data */
export async function initModel(options: InitOptions, watch: Watch = {}): Promise<InitReport> {
  const wish = wishOf(options);
  makePlanFolder(options.out);
  const { path: work, drop } = workingFolder('init');
  try {
    const source = await openData(options.from, options);
    const { header, columns, train, validation, dropped, ...described } = await headerOf(
      source,
      options,
      wish.seed,
      work,
      watch,
    );
    const notes = [...described.notes, ...(dropped > 0 ? [`${dropped} rows without a label are left out`] : [])];
    const rows = { train, validation };
    const { manifest, plain, why } = planned({ header, rows, ...wish });
    const data = readingOf(options, rows.validation);
    const replaced = writePlan(options.out, manifest, header, { plan: plain, why: [...why, ...notes], data });
    if (source.tokenizer !== undefined) writeWhole(join(options.out, tokenizerName), source.tokenizer.bytes);
    const { parameters, seconds } = estimate(manifest);
    return {
      ...{ out: options.out, digest: to0x(manifestDigest(manifest)), plan: plain, why, notes },
      ...{ replaced, columns, dropped, parameters, seconds },
    };
  } finally {
    drop();
  }
}
