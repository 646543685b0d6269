/** The exp table of libs/step/SPEC.md §6 by integer arithmetic, checked against its published digest. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { toHex } from '#attestation/base';
import { refuse } from './errors.js';
import { tensorBytes } from './int64.js';

const precision = 192n;
const digests: Readonly<Record<string, string>> = {
  '10/6': '0179c731607a57ce5dcdd9e61f8d22fb1b372d15e058180ed536cbd73595a0e4',
  '8/4': '352d3706727a39c13e7d3d1531060bcea9a10f171030d22f8f28f024d3d23c38',
  '12/8': 'd61aaf202e33a1c75a9e02094ecae14ed2e4145618bf31ff5217e6022261317b',
};
const made = new Map<string, Int32Array>();

/**
 * T[i] = floor(2^E·exp(−i·2^-a) + 1/2), i = 0..65535.
 *
 * @throws Rejection STEP_TABLE_DIGEST when a table with a published digest does not have it
 */
export function expTable(E: number, a: number): Int32Array {
  const key = `${E}/${a}`;
  const known = made.get(key);
  if (known) return known;
  const table = new Int32Array(65_536);
  const factor = expNegative(a);
  const half = 1n << (precision - 1n);
  let power = 1n << precision;
  for (let i = 0; i < table.length; i++) {
    const entry = ((power << BigInt(E)) + half) >> precision;
    if (entry === 0n) break;
    table[i] = Number(entry);
    power = (power * factor) >> precision;
  }
  const digest = toHex(keccak_256(tensorBytes(BigInt64Array.from(table, BigInt))));
  if (digests[key] !== undefined && digests[key] !== digest) {
    refuse('STEP_TABLE_DIGEST', digests[key], digest, 'libs/step/SPEC.md §6');
  }
  made.set(key, table);
  return table;
}

/** exp(−2^-a) scaled by 2^192, by its Taylor series. */
function expNegative(a: number): bigint {
  let term = 1n << precision;
  let sum = 0n;
  for (let n = 1n; term !== 0n; n++) {
    sum += term;
    term = -(term >> BigInt(a)) / n;
  }
  return sum;
}
