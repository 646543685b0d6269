/** Plans and checks a model in the browser, by the planner of the command line. */
import { estimate, planModel, type PlanWish } from '#libs/models';
import { netProvability, parseNetManifest, type DataHeader, type NetManifest } from '#libs/step';

export interface DataWish {
  readonly kind: 'table' | 'pictures' | 'text';
  readonly rows: number;
  readonly columns: number;
  /** Pixels. */
  readonly side: number;
  /** Tokens. */
  readonly context: number;
  readonly vocabulary: number;
  readonly target: 'class' | 'real';
  readonly outputs: number;
  readonly epochs: number;
  readonly arch: '' | NonNullable<PlanWish['arch']>;
}

/** Taken for what somebody does not say of their data. */
export const exampleOf = {
  ...{ rows: 10_000, columns: 20, side: 28, context: 64, vocabulary: 256, outputs: 2 },
} as const;

export interface Check {
  readonly parameters: number;
  readonly seconds: number;
  readonly slowSeconds: number;
  readonly memoryBytes: number;
  readonly steps: number;
  readonly batch: number;
  /** The choices, a sentence each. */
  readonly why: readonly string[];
  /** Why no step proof covers it; empty: one may. */
  readonly reasons: readonly string[];
}

/** The plan does not hang on it, but a manifest has one. */
const seed = `0x${'01'.repeat(32)}`;
/** Rows of ten that nobody trains on, as `model init` sets them aside. */
const validationShare = 0.1;
const manifestCharactersMax = 4_000_000;

/** @param said 0 stands for what is not said: the example's. @throws Rejection of the planner */
export function planOf(said: DataWish): Check {
  const known = Object.entries(said).filter(([, value]) => value !== 0);
  const wish: DataWish = { ...said, ...exampleOf, ...Object.fromEntries(known) };
  const validation = wish.rows >= 10 ? Math.floor(wish.rows * validationShare) : 0;
  const rows = { train: wish.rows - validation, validation };
  const { epochs, arch } = wish;
  const header = headerOf(wish, rows);
  const { manifest, why } = planModel({ header, rows, seed, epochs, ...(arch !== '' && { arch }) });
  return { ...checkOf(manifest), why };
}

/** @throws Rejection of the manifest's reader */
export function readManifest(text: string): Check {
  if (text.length > manifestCharactersMax) throw new Error('a file that is no manifest: it is too long');
  return { ...checkOf(parseNetManifest(JSON.parse(text))), why: [] };
}

function checkOf(manifest: NetManifest): Omit<Check, 'why'> {
  const { parameters, seconds, slowSeconds, memoryBytes } = estimate(manifest);
  const { steps, batch } = manifest;
  return { parameters, seconds, slowSeconds, memoryBytes, steps, batch, reasons: netProvability(manifest) };
}

function headerOf(wish: DataWish, split: { train: number; validation: number }): DataHeader {
  const common = { layout: 2, columns: [], split, tokenizer: null } as const;
  const { kind, columns, side, context, vocabulary, target, outputs } = wish;
  if (kind === 'text') {
    const features = { dtype: 'tokens', shape: [context], vocab: vocabulary } as const;
    return { ...common, features, label: { kind: 'tokens' } };
  }
  const label =
    target === 'class'
      ? ({ kind: 'class', classes: outputs, columns: [] } as const)
      : ({ kind: 'real', count: 1, frac: 8, columns: [] } as const);
  const features =
    kind === 'pictures'
      ? ({ dtype: 'uint8', shape: [side, side, 1], frac: 8 } as const)
      : ({ dtype: 'int16', shape: [columns], frac: 8 } as const);
  return { ...common, features, label };
}
