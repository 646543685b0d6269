/** `veritrain model init`: looks at the data and writes a manifest for it. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { to0x } from '#attestation/base';
import { estimate, planModel, type PlanWish } from '#libs/models';
import { manifestDigest } from '#libs/step';
import { openData, recordsOf, usage, type DataOptions } from './data.js';
import { tokenizerName, writePlan } from './folder.js';
import { writeWhole } from '#libs/client';

export interface InitOptions extends DataOptions {
  readonly from: string;
  readonly out: string;
  readonly arch?: NonNullable<PlanWish['arch']>;
  readonly optimizer?: NonNullable<PlanWish['optimizer']>;
  readonly lr?: string;
  readonly epochs?: string;
  readonly batch?: string;
  readonly seed?: string;
}

interface InitReport {
  readonly out: string;
  readonly digest: string;
  readonly plan: object;
  /** The choices, a sentence each; and what the data has that a reader should know. */
  readonly why: readonly string[];
  readonly notes: readonly string[];
  /** Rows without a label. */
  readonly dropped: number;
  readonly parameters: number;
  /** On one thread, an estimate. */
  readonly seconds: number;
}

export async function initModel(options: InitOptions): Promise<InitReport> {
  const seed = options.seed ?? to0x(randomBytes(32));
  const work = mkdtempSync(join(tmpdir(), 'veritrain-init-'));
  try {
    const source = await openData(options.from, options);
    const { header, train, validation, report } = await recordsOf(source, options, seed, work);
    const rows = { train: train.count, validation: validation?.count ?? 0 };
    const { manifest, plain, why } = planModel({ header, rows, seed, ...wishOf(options) });
    const data = readingOf(options, rows.validation);
    writePlan(options.out, manifest, header, { plan: plain, why: [...why, ...report.notes], data });
    if (source.tokenizer !== undefined) writeWhole(join(options.out, tokenizerName), source.tokenizer.bytes);
    const { parameters, seconds } = estimate(manifest);
    return {
      ...{ out: options.out, digest: to0x(manifestDigest(manifest)), plan: plain, why, notes: report.notes },
      ...{ dropped: report.dropped, parameters, seconds },
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function wishOf({ arch, optimizer, lr, epochs, batch }: Omit<InitOptions, 'from' | 'out'>): PlanWish {
  return {
    ...(arch !== undefined && { arch }),
    ...(optimizer !== undefined && { optimizer }),
    ...(lr !== undefined && { lr: rate(lr) }),
    ...(epochs !== undefined && { epochs: whole('--epochs', epochs) }),
    ...(batch !== undefined && { batch: whole('--batch', batch) }),
  };
}

/** What `train` needs to read the data the same way; the validation rows as a number. */
function readingOf(options: DataOptions, validation: number): DataOptions {
  const { target, task, drop, size, tokens, textField } = options;
  return {
    ...(target !== undefined && { target }),
    ...(task !== undefined && { task }),
    ...(drop !== undefined && { drop }),
    ...(size !== undefined && { size }),
    ...(tokens !== undefined && { tokens }),
    ...(textField !== undefined && { textField }),
    validation: String(validation),
  };
}

function rate(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value < 100) return value;
  throw usage('--lr as a number above 0', text);
}

function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw usage(`${name} as a whole number above 0`, text);
  return Number(text);
}
