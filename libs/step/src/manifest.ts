/**
 * The job manifest `fxt/1` (libs/step/SPEC.md §3): everything the semantics of training depends on.
 * Parsing is strict: an unknown, missing or wrong member is refused, so that equal digests mean equal semantics.
 */
import { fromUtf8 } from '#attestation/base';
import { refuse } from './errors.js';
import * as limits from './limits.js';
import { checkLoss, parseLoss, type Loss } from './losses/index.js';
import { integer, integers, onlyMembers, record } from './members.js';

export interface Sgd {
  readonly kind: 'sgd';
  /** Public step size schedule: [fromStep, m], fromStep rising from 0, m in 1..255. */
  readonly m: readonly (readonly [number, number])[];
}

export interface Manifest {
  readonly fxt: 1;
  /** Widths n_0..n_L. */
  readonly dims: readonly number[];
  /** Rows B of one batch. */
  readonly batch: number;
  /** Fractions a_0..a_L of inputs, activations and logits. */
  readonly a: readonly number[];
  readonly abits: number;
  readonly ybits: number;
  readonly gbits: number;
  /** Fractions g_1..g_L of errors. */
  readonly g: readonly number[];
  /** Step size exponents e_1..e_L: lr/B = m·2^-e. */
  readonly e: readonly number[];
  /** Weights and biases stay within ±2^wint (real); one number, or one per layer. */
  readonly wint: number | readonly number[];
  readonly loss: Loss;
  readonly optimizer: Sgd;
  readonly steps: number;
  readonly order: 'affine';
  /** Blocks per superblock S, a power of two. */
  readonly superblock: number;
  /** 0x and 64 lower-case hexadecimal digits. */
  readonly seed: string;
}

const rule = 'libs/step/SPEC.md §3';
const members = new Set(
  'fxt dims batch a abits ybits gbits g e wint loss optimizer steps order superblock seed'.split(' '),
);

/**
 * @param json a parsed JSON value; `superblock` may be absent and is 1 then
 * @throws Rejection MANIFEST_TYPE, MANIFEST_UNKNOWN_FIELD, MANIFEST_MISSING_FIELD, MANIFEST_VERSION, MANIFEST_RANGE,
 *   MANIFEST_LENGTH, MANIFEST_SIZE, MANIFEST_SCHEDULE, MANIFEST_SUPERBLOCK, MANIFEST_SEED, MANIFEST_LOSS,
 *   MANIFEST_OPTIMIZER, MANIFEST_ORDER
 */
export function parseManifest(json: unknown): Manifest {
  const o = record(json, 'manifest');
  onlyMembers(o, members, 'manifest');
  for (const name of members) {
    if (!(name in o) && name !== 'superblock') refuse('MANIFEST_MISSING_FIELD', name, 'nothing', rule);
  }
  if (o.fxt !== 1) refuse('MANIFEST_VERSION', 'fxt 1', o.fxt, rule);
  const dims = integers(o.dims, 'dims', 1, limits.widthMax);
  const layerCount = dims.length - 1;
  if (layerCount < 1 || layerCount > limits.layersMax) {
    refuse('MANIFEST_LENGTH', `2 to ${limits.layersMax + 1} widths in dims`, dims.length, rule);
  }
  checkSize(dims);
  const ybits = integer(o.ybits, 'ybits', 2, 16);
  const manifest: Manifest = {
    fxt: 1,
    dims,
    batch: integer(o.batch, 'batch', 1, limits.batchMax),
    a: integers(o.a, 'a', 0, 12, layerCount + 1),
    abits: integer(o.abits, 'abits', 1, ybits - 1),
    ybits,
    gbits: integer(o.gbits, 'gbits', 2, 24),
    g: integers(o.g, 'g', 1, 20, layerCount),
    e: integers(o.e, 'e', 0, 40, layerCount),
    wint: Array.isArray(o.wint) ? integers(o.wint, 'wint', 0, 16, layerCount) : integer(o.wint, 'wint', 0, 16),
    loss: parseLoss(o.loss),
    optimizer: parseOptimizer(o.optimizer),
    steps: integer(o.steps, 'steps', 1, limits.stepsMax),
    order: o.order === 'affine' ? 'affine' : refuse('MANIFEST_ORDER', 'affine', o.order, 'libs/step/SPEC.md §9'),
    superblock: parseSuperblock(o.superblock ?? 1),
    seed: parseSeed(o.seed),
  };
  if (manifest.dims[layerCount]! < 2 || manifest.dims[layerCount]! > 256) {
    refuse('MANIFEST_RANGE', '2 to 256 classes (a label is one byte)', manifest.dims[layerCount], rule);
  }
  checkLoss(manifest.loss, manifest.g[layerCount - 1]!);
  return manifest;
}

/**
 * @param bytes UTF-8 JSON text
 * @throws Rejection MANIFEST_OVERSIZE, MANIFEST_JSON, BYTES_UTF8 and those of `parseManifest`
 */
export function parseManifestText(bytes: Uint8Array): Manifest {
  return parseManifest(manifestJson(bytes));
}

/** @throws Rejection MANIFEST_OVERSIZE, MANIFEST_JSON, BYTES_UTF8 */
export function manifestJson(bytes: Uint8Array): unknown {
  if (bytes.length > limits.manifestBytesMax) {
    refuse('MANIFEST_OVERSIZE', `at most ${limits.manifestBytesMax} bytes`, bytes.length, rule);
  }
  const text = fromUtf8(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return refuse('MANIFEST_JSON', 'JSON text', text, 'RFC 8259');
  }
}

/** n_0: feature bytes of a record. */
export function featureCount({ dims }: Manifest): number {
  return dims[0]!;
}

/** C: values of a label, and outputs of the last layer. */
export function classCount({ dims }: Manifest): number {
  return dims.at(-1)!;
}

/** m_t of the schedule at a step of the job; 0 for the null steps behind its last (libs/zk/SPEC.md §2.2). */
export function stepSize(manifest: Manifest, step: number): number {
  if (step >= manifest.steps) return 0;
  let m = 1;
  for (const [fromStep, value] of manifest.optimizer.m) if (fromStep <= step) m = value;
  return m;
}

function parseOptimizer(value: unknown): Sgd {
  const o = record(value, 'optimizer');
  if (o.kind !== 'sgd') refuse('MANIFEST_OPTIMIZER', 'sgd with exact updates', o.kind, 'libs/step/SPEC.md §7');
  onlyMembers(o, new Set(['kind', 'm']), 'optimizer');
  if (!Array.isArray(o.m) || o.m.length < 1 || o.m.length > limits.scheduleEntriesMax) {
    refuse('MANIFEST_SCHEDULE', `1 to ${limits.scheduleEntriesMax} pairs [fromStep, m]`, o.m, rule);
  }
  let previous = -1;
  const m = o.m.map((entry: unknown): [number, number] => {
    const pair = integers(entry, 'optimizer.m', 0, limits.stepsMax, 2);
    const [fromStep, size] = [pair[0]!, pair[1]!];
    if (size < 1 || size > 255 || fromStep <= previous || (previous < 0 && fromStep !== 0)) {
      refuse('MANIFEST_SCHEDULE', 'fromStep rising from 0 and m in 1..255', entry, rule);
    }
    previous = fromStep;
    return [fromStep, size];
  });
  return { kind: 'sgd', m };
}

function parseSuperblock(value: unknown): number {
  const size = integer(value, 'superblock', 1, limits.superblockMax);
  if ((size & (size - 1)) !== 0) refuse('MANIFEST_SUPERBLOCK', 'a power of two', size, 'libs/step/SPEC.md §9');
  return size;
}

function parseSeed(value: unknown): string {
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value)) return value;
  return refuse('MANIFEST_SEED', '0x and 64 lower-case hexadecimal digits', value, rule);
}

function checkSize(dims: readonly number[]): void {
  let parameters = 0;
  for (let l = 1; l < dims.length; l++) parameters += (dims[l - 1]! + 1) * dims[l]!;
  if (parameters > limits.parametersMax) {
    refuse('MANIFEST_SIZE', `at most ${limits.parametersMax} weights and biases`, parameters, rule);
  }
}
