/** Tables of the smooth activations (libs/step/SPEC.md §22), every entry rounded right, checked against published digests. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { toHex } from '#attestation/base';
import { refuse } from '../../errors.js';
import { tensorBytes } from '../../int64.js';
import { curveOrigin, curvePairs, indexMax, type Between, type Curve } from './curves.js';
import { one, precision } from './series.js';

export interface ActivationTable {
  /** T[x + 32768] = floor(2^out·f(x·2^-in) + 1/2). */
  readonly values: Float64Array;
  /** The same of f', with fraction 14. */
  readonly slopes: Float64Array;
}

/** Fraction of every table of slopes. */
export const slopeFraction = 14;

const rule = 'libs/step/SPEC.md §22';
const keptTables = 32;
const made = new Map<string, ActivationTable>();

/** Of `values` and `slopes` by curve/in/out. */
const digests: Readonly<Record<string, readonly [string, string]>> = {
  'gelu/8/8': [
    'ab203cdb4095f0145bf42940a0ad65a6120000c9f6165afb32e092503f23d447',
    '84f2a7e1a869af1c738802d6d3ec81316cecdf58ae3ea77ae5aa6254b67bbf69',
  ],
  'silu/8/8': [
    'd0ecdee0331d9998eb3cdb3f6686816d102703c0600f09a37162aa58777368ac',
    '4717f67b03de5aa6ea2a777ddf26d839fdf85a9a7ff856e89460b5c8a362bf32',
  ],
  'tanh/8/8': [
    '8a1a4a44a065c5f42929ecad1afdf7192810ab1dd706497a534af8361b13d489',
    '479c0b2cbb48e3d187c1915f0351661a1e0ec2529634d45d10729e5019b9e8b0',
  ],
  'sigmoid/8/8': [
    '9a50ab49107eed8048e50eac418553fcba1be55d28eedbdc7579675bfcc74e89',
    'c331bb6bdbd9ec7f9154d28da62f19e49043b2df44e1cb648c7bb7c5e8a8b97e',
  ],
  'sigmoid/10/12': [
    '0b660d7e877a5722279c9f48a952875e9e43e7e3d77c1e84143177e994e705f1',
    '4642ed0a7db823be0fd394798c1d86e89798a7ef71bdcbbe0e51d540b9b62c4c',
  ],
  'sigmoid/10/10': [
    '7efa68d5c4941487902440338d9c748404da39517422b8e881ae976d410744bd',
    '4642ed0a7db823be0fd394798c1d86e89798a7ef71bdcbbe0e51d540b9b62c4c',
  ],
};

/**
 * @param fraction of the inputs, 0 … 24 @param out fraction of the values, 0 … 24
 * @throws Rejection STEP_TABLE_DIGEST when a table with a published digest does not have it
 */
export function activationTable(curve: Curve, fraction: number, out: number): ActivationTable {
  const key = `${curve}/${fraction}/${out}`;
  const table = made.get(key) ?? makeTable(curve, fraction, out);
  if (!made.has(key)) checkDigests(key, table);
  made.delete(key);
  made.set(key, table);
  if (made.size > keptTables) made.delete(made.keys().next().value!);
  return table;
}

/** @throws Rejection OP_TABLE for values beyond 16 bits @param where the layer that reads the table */
export function checkTable(curve: Curve, fraction: number, out: number, where: string): void {
  const x = (indexMax - 1) * 2 ** -fraction;
  // All four rise to the right of 0 and reach no further down than up; x·F(x) lies between x/2 and x.
  const most = { gelu: x, silu: x, tanh: Math.tanh(x), sigmoid: 1 / (1 + Math.exp(-x)) }[curve];
  const largest = Math.floor(most * 2 ** out + 0.5);
  if (largest >= indexMax) refuse('OP_TABLE', `${where}: a table of values below ${indexMax}`, largest, rule);
}

function makeTable(curve: Curve, fraction: number, out: number): ActivationTable {
  const [values, slopes] = [new Float64Array(2 * indexMax), new Float64Array(2 * indexMax)];
  const origin = curveOrigin(curve);
  values[indexMax] = rounded(origin.value, out);
  slopes[indexMax] = rounded(origin.slope, slopeFraction);
  for (const { i, right, left } of curvePairs(curve, fraction)) {
    values[indexMax - i] = rounded(left.value, out);
    slopes[indexMax - i] = rounded(left.slope, slopeFraction);
    if (i === indexMax) break;
    values[indexMax + i] = rounded(right.value, out);
    slopes[indexMax + i] = rounded(right.slope, slopeFraction);
  }
  return { values, slopes };
}

/** floor(2^out·v + 1/2) of the v that is known to lie between: its ends must agree. */
function rounded({ low, high }: Between, out: number): number {
  const half = one >> 1n;
  const down = ((low << BigInt(out)) + half) >> precision;
  // A value strictly below `high` rounds to what the numbers just below it round to.
  const up = low === high ? down : ((high << BigInt(out)) + half - 1n) >> precision;
  if (down !== up) refuse('STEP_TABLE_PRECISION', 'a value that is not this near to a half', String(low), rule);
  return Number(down);
}

function checkDigests(key: string, { values, slopes }: ActivationTable): void {
  const published = digests[key];
  if (published === undefined) return;
  for (const [at, entries] of [values, slopes].entries()) {
    const digest = toHex(keccak_256(tensorBytes(BigInt64Array.from(entries, BigInt))));
    if (digest !== published[at]) refuse('STEP_TABLE_DIGEST', published[at]!, digest, rule);
  }
}
