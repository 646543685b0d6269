/** How often each table entry is looked up (SPEC §4.1 `mR mA mE`, §4.3). */
import type { Shape } from '../relation/shape.js';
import type { Columns, SegmentWitness } from './execute.js';

const tableSize = 2 ** 16;

/** Counts; a value outside its table is not counted, and the proof will then be rejected. */
export function countLookups(shape: Shape, segment: SegmentWitness): Columns {
  const counts = {
    mR: new Float64Array(tableSize),
    mA: new Float64Array(tableSize),
    mE: new Float64Array(2 ** shape.expVars),
  };
  const add = (table: Float64Array, index: number): void => {
    if (Number.isInteger(index) && index >= 0 && index < table.length) table[index]! += 1;
  };
  const range = (index: number): void => add(counts.mR, index);
  hiddenLookups(shape, segment, range, (index) => add(counts.mA, index));
  logitLookups(shape, segment, range, (index) => add(counts.mE, index));
  rowLookups(shape, segment, range);
  borderLookups(shape, segment, range);
  return new Map(Object.entries(counts));
}

type Count = (index: number) => void;

function hiddenLookups(shape: Shape, { witness, virtual }: SegmentWitness, range: Count, activation: Count): void {
  for (const { layer, forwardShift: s } of shape.layers.slice(0, -1)) {
    const backward = shape.layers[layer]!.backwardShift!;
    const [l, h, G, hp] = (['l', 'h', 'G', 'hp'] as const).map((kind) => witness.get(`${kind}${layer}`)!);
    const [Z, MH] = [virtual.get(`Z${layer}`)!, virtual.get(`MH${layer}`)!];
    for (let i = 0; i < Z.length; i++) {
      activation((Z[i]! + 2 ** (s - 1) - l![i]! - 2 ** (s - 16) * h![i]!) / 2 ** s + 2 ** 15);
      range(2 ** (32 - s) * l![i]!);
      range(h![i]!);
      range(G![i]! + 2 ** 15);
      range(
        2 ** (32 - backward) * (MH[i]! + 2 ** (backward - 1) - 2 ** backward * G![i]! - 2 ** (backward - 16) * hp![i]!),
      );
      range(hp![i]!);
    }
  }
}

function logitLookups(shape: Shape, segment: SegmentWitness, range: Count, exp: Count): void {
  const { witness, virtual, data } = segment;
  const { manifest, classes, expVars, lossFraction } = shape;
  const s = shape.layers.at(-1)!.forwardShift;
  const rows = manifest.superblock * manifest.batch;
  const [d, hL, GL, w] = (['d', 'hL', 'GL', 'w'] as const).map((name) => witness.get(name)!);
  const [mu, Z, E, Y] = [witness.get('mu')!, virtual.get('ZL')!, virtual.get('E')!, data.get('Y')!];
  for (let i = 0; i < classes * rows; i++) {
    const value = mu[i % rows]! - d![i]!;
    if (w![i] === 1) exp(d![i]!);
    else range(d![i]! - 2 ** expVars);
    range(value + 2 ** 15);
    range(2 ** (32 - s) * (Z[i]! + 2 ** (s - 1) - 2 ** s * value - 2 ** (s - 16) * hL![i]!));
    range(hL![i]!);
    const p = GL![i]! + 2 ** lossFraction * Y[i]!;
    range(E[i]! + 2 ** 15 - 2 ** 16 * p);
    range(p);
  }
}

function rowLookups(shape: Shape, { witness, virtual }: SegmentWitness, range: Count): void {
  const [iota, S, Q] = [witness.get('iota')!, virtual.get('S')!, virtual.get('Q')!];
  for (let i = 0; i < iota.length; i++) {
    const remainder = 2 ** shape.reciprocalBits - Q[i]!;
    range(iota[i]! - 1);
    range(remainder);
    range(S[i]! - 1 - remainder);
  }
}

function borderLookups(shape: Shape, { witness, after }: SegmentWitness, range: Count): void {
  for (const { layer, weightBits, biasBits } of shape.layers) {
    for (const [name, limb, bits] of [
      [`W${layer}`, `hW${layer}`, weightBits],
      [`b${layer}`, `hb${layer}`, biasBits],
    ] as const) {
      const [values, high] = [after.get(name)!, witness.get(limb)!];
      for (let i = 0; i < values.length; i++) {
        range(2 ** (31 - bits) * (values[i]! - 2 ** (bits - 15) * high[i]!));
        range(high[i]! + 2 ** 15);
      }
    }
  }
}
