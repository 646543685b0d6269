/**
 * How many parts a training graph takes a batch in (libs/step/SPEC.md §26): sums over a batch are exact, so no bit depends
 * on it, and tensors that fit the processor's cache are read faster than those that do not.
 */
import { sizeOf } from '../tensors.js';
import type { NetEmitter } from './emitter.js';
import type { Net } from './net.js';
import { netOps } from './ops/index.js';

/** Bytes of the largest tensor of a part. */
const partBytes = 2 ** 20;
const partsMax = 8;

/** @returns a divisor of the batch; 1 where an op counts elements within the whole batch */
export function batchParts({ manifest: { batch }, layers }: Net): number {
  if (layers.some(({ op }) => netOps[op]!.perStep !== undefined)) return 1;
  const widest = layers.map((layer) => netOps[layer.op]!.widest?.(layer) ?? sizeOf(layer.output.shape));
  const bytes = 8 * batch * Math.max(...widest);
  const divisors = Array.from({ length: partsMax }, (_, i) => i + 1).filter((parts) => batch % parts === 0);
  return divisors.find((parts) => bytes / parts <= partBytes) ?? divisors.at(-1)!;
}

/** As many parts of the first axis, one behind the other. */
export function emitRowParts(e: NetEmitter, x: string, rows: number, count: number): readonly string[] {
  return count === 1 ? [x] : e.split(x, Array<number>(count).fill(rows / count), 0);
}

/** One of `count` such parts, taken when all tensors of whole numbers in `after` are there. */
export function emitRowPartAfter(
  e: NetEmitter,
  x: string,
  rows: number,
  [at, count]: readonly [number, number],
  after: readonly string[],
): string {
  const size = rows / count;
  const places = e.graph.axes(...Array.from({ length: size }, (_, i) => at * size + i));
  if (after.length === 0) return e.node('Gather', [x, places]);
  const first = after.map((name) => e.node('Gather', [e.reshape(name, [-1]), e.graph.axes(0)]));
  const zero = e.cast(e.scaled(e.node('Sum', first), 0), 'int64');
  return e.node('Gather', [x, e.add(places, zero)]);
}
