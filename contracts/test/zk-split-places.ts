/** What a test that changes a proof in two parts must know: where each of their bytes stands in the whole proof. */
import { seedOf } from '../../libs/zk/src/testing/segments.js';
import { partsOf } from '../../libs/zk/src/testing/structure.js';
import type { SplitSegment } from './zk-split-chain.js';

/** Where each byte of the two parts stands in the proof; -1 for rows, which do not. */
export function placesOf({ plan, statement, fields, parts }: SplitSegment): { head: number[]; openings: number[] } {
  const head: number[] = [];
  const openings: number[] = [];
  const isOpened = ({ kind, tree }: ReturnType<typeof partsOf>[number]): boolean =>
    (kind === 'sibling' && tree === 'S') ||
    ((kind === 'symbol' || kind === 'sibling') && tree?.startsWith('L') === true);
  const counts = levelsIn(parts.rest).map(({ count }) => count);
  let opened = '';
  for (const part of partsOf(plan, statement, fields.proof)) {
    const isOpening = isOpened(part);
    if (isOpening && part.tree !== opened) {
      opened = part.tree!;
      if (opened !== 'S') head.push(...new Array<number>(16 * counts.shift()!).fill(-1));
    }
    const list = isOpening ? openings : head;
    for (let k = 0; k < part.length; k++) list.push(part.offset + k);
  }
  return { head, openings };
}

/** Of each level how many leaves are opened. */
export function levelsIn(rest: Uint8Array): { count: number }[] {
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const levels: { count: number }[] = [];
  for (let at = 0; at < rest.length;) {
    const [rowVars, rows, count] = [40, 44, 48].map((from) => view.getUint32(at + from)) as [number, number, number];
    // The witness has no rows.
    if (rows > 0) levels.push({ count });
    at += 52 + 16 * rowVars + (rows > 0 ? 4 : 36) * count;
  }
  return levels;
}

/**
 * What the first part may be refused with where the whole proof is refused with a code. Paths stand in the second part, where other
 * places may need more of them than there are; the first tells by other places, nonces or the end.
 */
export function firstPartMaySay(code: string): readonly string[] {
  const byOthers = ['STEP_FINAL_CHECK', 'STEP_POW'];
  if (/^STEP_MERKLE_(S$|L)/.test(code)) return byOthers;
  return code === 'STEP_PROOF_LENGTH' ? [code, ...byOthers] : [code];
}

export function flipped(bytes: Uint8Array, place: number, bit = 0): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[place]! ^= 1 << bit;
  return copy;
}

export function random(k: number, below: number): number {
  return new DataView(seedOf(`split ${k} of ${below}`).buffer).getUint32(0) % below;
}
