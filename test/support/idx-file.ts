/** IDX files of unsigned bytes. */
import { writeFileSync } from 'node:fs';
import { concatBytes, uintBe } from '#attestation/base';

/** @returns the path */
export function writeIdx(path: string, sides: readonly number[], valueAt: (i: number) => number): string {
  const head = [0x800 + sides.length, ...sides].map((word) => uintBe(word, 4));
  const length = sides.reduce((product, side) => product * side, 1);
  writeFileSync(
    path,
    concatBytes(
      ...head,
      Uint8Array.from({ length }, (_, i) => valueAt(i)),
    ),
  );
  return path;
}
