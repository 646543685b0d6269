/** Files with one bit flipped, and whether the verdict on each is as it must be. */
import { CodedError, decodeCanonical, type CborValue } from '#attestation/base';
import { headingOf, reasonsOf, type BundleVerdict, type HeadingId } from '#libs/review';
import type { Sample } from './corpus.js';
import { judgedHere } from './judged.js';

/** Unix seconds within the dates of every made-up vendor. */
export const presentOfTest = 1_790_000_000;

interface Flip {
  readonly place: number;
  readonly bytes: Uint8Array;
}

/** Spread over the file, every bit of a byte in its turn. */
export function flipsOf(bytes: Uint8Array, count: number): readonly Flip[] {
  return Array.from({ length: count }, (_, turn) => {
    const place = Math.floor((turn * bytes.length) / count);
    const changed = bytes.slice();
    changed[place]! ^= 1 << (turn % 8);
    return { place, bytes: changed };
  });
}

/** What a reader must see of a file: its heading, and the code of the gravest reason; null where none stands against it. */
interface Seen {
  readonly heading: HeadingId;
  readonly code: string | null;
}

function seenOf({ checks, tier, simulated }: BundleVerdict): Seen {
  const reasons = reasonsOf(checks.filter(({ id }) => id !== 'BUNDLE_TRANSACTIONS'));
  return { heading: headingOf({ tier, simulated }), code: reasons[0]?.code ?? null };
}

/** @throws Error where the verdict is the untouched one and does not name the byte as not checked */
export async function seenOfFlip(sample: Sample, untouched: BundleVerdict, { bytes, place }: Flip): Promise<Seen> {
  try {
    const [verdict] = await judgedHere({ ...sample, bytes }, presentOfTest);
    if (verdict.tier !== untouched.tier) return seenOf(verdict);
    const path = differenceOf(decodeCanonical(sample.bytes), decodeCanonical(bytes));
    const isNamed = untouched.notChecked.some(
      (name) => `${path}.`.startsWith(name) && /[.[]/.test(`${path}.`[name.length]!),
    );
    if (!isNamed) throw new Error(`byte ${place}, ${path}: the untouched verdict`);
    return seenOf(verdict);
  } catch (error) {
    if (error instanceof CodedError) return { heading: 'not-a-bundle', code: error.code };
    throw error;
  }
}

/** Where two documents part first: `sessions[0].result`. */
function differenceOf(a: CborValue, b: CborValue, path = ''): string {
  if (a instanceof Map && b instanceof Map && a.size === b.size && [...a.keys()].every((key) => b.has(key))) {
    const key = [...a.keys()].find((one) => !isEqual(a.get(one)!, b.get(one)!))!;
    return differenceOf(a.get(key)!, b.get(key)!, path === '' ? String(key) : `${path}.${String(key)}`);
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    const index = a.findIndex((one, at) => !isEqual(one, b[at]!));
    return differenceOf(a[index]!, b[index]!, `${path}[${index}]`);
  }
  return path;
}

const isEqual = (a: CborValue, b: CborValue): boolean => text(a) === text(b);

const text = (value: CborValue): string =>
  JSON.stringify(value, (_key, one: unknown) => {
    if (one instanceof Map) return [...one];
    if (one instanceof Uint8Array) return Buffer.from(one).toString('hex');
    return typeof one === 'bigint' ? `${one}n` : one;
  });
