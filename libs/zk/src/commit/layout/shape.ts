/**
 * What the relation needs to know about a manifest: powers of two, shifts, class pieces, the exp table
 * (libs/zk/SPEC.md §2.2, §4).
 */
import {
  classCount,
  layerScales,
  stepSizeMax,
  unscaledLimbs,
  type LayerScale,
  type Loss,
  type Manifest,
  type UnscaledLimbs,
} from '#libs/step';
import { committedLoss, type LossTable } from './losses/index.js';
import { log2Ceil } from './log2.js';
import { refuse } from './refuse.js';

/** Classes [start, start + 2^bits), start a multiple of 2^bits. */
export interface ClassPiece {
  readonly start: number;
  readonly bits: number;
}

/** What logits are for: a loss to train by, or counting the records that are classed right. */
export type Head = Loss['kind'] | 'accuracy';

/** What steps are computed with. */
export interface StepShape extends LossTable {
  readonly manifest: Manifest;
  /** Layers 1..L at positions 0..L−1. */
  readonly layers: readonly LayerScale[];
  readonly batch: number;
  readonly classes: number;
  readonly loss: Head;
  /** No step is taken: there is nothing but a forward pass. */
  readonly isForward: boolean;
  /** g_L. */
  readonly lossFraction: number;
  /** a_L − g_L: what rounds logits to errors of the same fraction; exact where it is not positive. */
  readonly roundingShift: number;
  /** Room of a column: for steps, for the units of layer l = 0..L, and for samples. */
  readonly steps: number;
  readonly widths: readonly number[];
  readonly samples: number;
  /** The data stand as [input, step, sample]; else as [step, input, sample]. */
  readonly inputsFirst: boolean;
}

/** Of a step by itself, without padding; of manifests without a proof too. */
export function stepShape(manifest: Manifest): StepShape {
  const { batch, loss, dims } = manifest;
  const layers = layerScales(manifest);
  const last = layers.at(-1)!;
  return {
    ...{ manifest, layers, batch, classes: classCount(manifest), loss: loss.kind, isForward: false },
    ...{ lossFraction: last.g, roundingShift: last.aOut - last.g, ...committedLoss(loss.kind).table(loss, last) },
    ...{ steps: 1, widths: dims, samples: batch, inputsFirst: false },
  };
}

/** Of a segment that can be proved: `batch` samples are real, the others padding, of which nothing reaches the weights. */
export interface Shape extends StepShape {
  /** lg of the padded width D_l, l = 0..L. */
  readonly widthVars: readonly number[];
  /** Which limbs have a second, unscaled lookup, by layer from 1. */
  readonly unscaled: readonly UnscaledLimbs[];
  /**
   * lg of the steps that a proof covers, of them lg of the number of segments, and lg of the batch rounded up to a power of
   * two: the samples of a committed tensor.
   */
  readonly stepVars: number;
  readonly segmentVars: number;
  readonly batchVars: number;
  /** Aligned pieces of [0, C) and of [C, D_L). */
  readonly pieces: readonly ClassPiece[];
  readonly gaps: readonly ClassPiece[];
  /** Back-propagated errors are signed and have so many bits, at most 16. */
  readonly errorBits: number;
  readonly stepSizeMax: number;
}

const rule = 'libs/zk/SPEC.md §2.2, §4.1';
/** More would need a new analysis (libs/zk/SPEC.md §13.4). */
const layersMax = 8;

/** @throws Rejection STEP_PLAN for a manifest that cannot be proved */
export function shapeOf(
  manifest: Manifest,
  { inputsFirst = false, unitSteps = 1 }: { readonly inputsFirst?: boolean; readonly unitSteps?: number } = {},
): Shape {
  const { superblock, loss } = manifest;
  const { check } = committedLoss(loss.kind);
  const layers = layerScales(manifest);
  if (layers.length > layersMax) refuse('STEP_PLAN', `1 to ${layersMax} layers`, layers.length, rule);
  if (!Number.isInteger(Math.log2(superblock)))
    refuse('STEP_PLAN', 'a superblock that is a power of two', superblock, rule);
  if (manifest.ybits !== 16) refuse('STEP_PLAN', '16-bit values', `${manifest.ybits} bits`, rule);
  if (manifest.gbits > 16) refuse('STEP_PLAN', 'errors of at most 16 bits', `${manifest.gbits} bits`, rule);
  for (const layer of layers) checkShifts(layer);
  check(loss, layers.at(-1)!);
  const step = stepShape(manifest);
  const widthVars = step.widths.map(log2Ceil);
  const batchVars = log2Ceil(step.batch);
  const steps = Math.max(superblock, unitSteps);
  return {
    ...step,
    ...{ steps, widths: widthVars.map((vars) => 2 ** vars), samples: 2 ** batchVars },
    ...{ widthVars, stepVars: log2Ceil(steps), segmentVars: log2Ceil(steps / superblock), batchVars, inputsFirst },
    unscaled: unscaledLimbs(manifest),
    pieces: alignedPieces(0, step.classes),
    gaps: alignedPieces(step.classes, 2 ** log2Ceil(step.classes)),
    errorBits: manifest.gbits,
    stepSizeMax: stepSizeMax(manifest),
  };
}

/** Greedy split of [from, to) into aligned powers of two, ascending. */
export function alignedPieces(from: number, to: number): ClassPiece[] {
  const pieces: ClassPiece[] = [];
  for (let start = from; start < to;) {
    let bits = 0;
    while (start % 2 ** (bits + 1) === 0 && start + 2 ** (bits + 1) <= to) bits++;
    pieces.push({ start, bits });
    start += 2 ** bits;
  }
  return pieces;
}

function checkShifts(layer: LayerScale): void {
  for (const shift of [layer.forwardShift, layer.backwardShift]) {
    if (shift !== undefined && (shift < 17 || shift > 32))
      refuse('STEP_PLAN', `shifts 17 to 32 in layer ${layer.layer}`, shift, rule);
  }
  for (const bits of [layer.weightBits, layer.biasBits]) {
    if (bits < 15 || bits > 31)
      refuse('STEP_PLAN', `weights and biases of 15 to 31 bits in layer ${layer.layer}`, bits, rule);
  }
}
