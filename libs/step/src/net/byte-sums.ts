/**
 * Gradient sums of bytes by the bytes of the errors (libs/step/SPEC.md §26): those of a parameter's slices are joined in
 * int32.
 */
import type { ElementType } from '../onnx/graph-builder.js';

/** What of an emitter they are written with. */
interface Writer {
  node(op: string, inputs: readonly string[]): string;
  add(x: string, y: string): string;
  mul(x: string, y: string): string;
  scalar(value: number): string;
  scale(x: string, bits: number): string;
  cast(x: string, to: ElementType): string;
  transpose(x: string, perm: readonly number[]): string;
  split(x: string, sizes: readonly number[], axis: number): readonly string[];
}

/** Gradient sums that meet in an int32, at most: 255·2^15 of each stays within it. */
export const byteRowsMax = 256;

/**
 * Gradient sums of slices of a parameter's rows, int32 each.
 *
 * @param x uint8 [rows, fan], at most `byteRowsMax` rows @param G whole numbers −2^15 … 2^15 − 1, [rows, out]
 * @param sizes how much of the fan each slice has
 */
export function emitSlicedSums(e: Writer, x: string, G: string, sizes: readonly number[]): readonly string[] {
  const [low, high] = emitErrorBytes(e, G);
  const [zero, power] = [e.cast(e.scalar(-128), 'int8'), e.cast(e.scalar(256), 'int32')];
  return e.split(e.transpose(x, [1, 0]), sizes, 0).map((left) => {
    const ofLow = e.node('MatMulInteger', [left, low, '', zero]);
    return e.add(e.mul(e.node('MatMulInteger', [left, high]), power), ofLow);
  });
}

/** The two bytes of G [rows, out], int8: the low one less 128, which is its zero point. */
export function emitErrorBytes(e: Writer, G: string): readonly [string, string] {
  const low = e.cast(e.cast(e.add(G, e.scalar(128)), 'int32'), 'int8');
  const high = e.cast(e.cast(e.add(e.scale(G, -8), e.scalar(256)), 'int32'), 'int8');
  return [low, high];
}
