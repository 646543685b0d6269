/** Entry bundles: entries, each after its length in two bytes. */
import { concatBytes, Rejection, uintBe } from '#attestation/base';
import { entryBytesMax } from '#attestation/log';
import { tileWidth } from './paths.js';

export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...entries.flatMap((entry) => [uintBe(entry.length, 2), entry]));
}

/** @throws Rejection LOG_TILE where it is no bundle of `count` entries */
export function decodeEntries(bundle: Uint8Array, count: number): Uint8Array[] {
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.length);
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at + 2 <= bundle.length && entries.length < tileWidth) {
    const length = view.getUint16(at);
    entries.push(bundle.slice(at + 2, at + 2 + length));
    at += 2 + length;
  }
  if (at !== bundle.length || entries.length !== count || entries.some(({ length }) => length > entryBytesMax)) {
    throw new Rejection('LOG_TILE', {
      expected: `${count} entries of at most ${entryBytesMax} bytes`,
      got: `${bundle.length} bytes that are not`,
      rule: 'C2SP tlog-tiles',
    });
  }
  return entries;
}
