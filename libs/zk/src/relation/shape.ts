/** What the relation needs to know about a manifest: powers of two, shifts, class pieces, the exp table (SPEC §2.2, §4). */
import { expTable, layerScales, stepSizeMax, type LayerScale, type Manifest } from '#libs/step';
import { log2Ceil } from '../field/multilinear.js';
import { refuse } from './refuse.js';

/** Classes [start, start + 2^bits), start a multiple of 2^bits. */
export interface ClassPiece {
  readonly start: number;
  readonly bits: number;
}

export interface Shape {
  readonly manifest: Manifest;
  /** Layers 1..L at positions 0..L−1. */
  readonly layers: readonly LayerScale[];
  /** lg of the padded width D_l, l = 0..L. */
  readonly widthVars: readonly number[];
  /** lg T and lg B. */
  readonly stepVars: number;
  readonly batchVars: number;
  readonly classes: number;
  /** Aligned pieces of [0, C) and of [C, D_L). */
  readonly pieces: readonly ClassPiece[];
  readonly gaps: readonly ClassPiece[];
  /** g_L = E, and k of the softmax. */
  readonly lossFraction: number;
  readonly reciprocalBits: number;
  /** x: the exp table is zero from 2^x on. */
  readonly expVars: number;
  /** T_exp[0 … 2^x). */
  readonly expValues: readonly number[];
  readonly stepSizeMax: number;
}

const rule = 'step-proof §2.2, §4.1';
const layersMax = 8;

/** @throws Rejection STEP_PLAN for a manifest that version 1 cannot prove */
export function shapeOf(manifest: Manifest): Shape {
  const layers = layerScales(manifest);
  const { batch, superblock, loss, dims } = manifest;
  if (layers.length < 2 || layers.length > layersMax)
    refuse('STEP_PLAN', `2 to ${layersMax} layers`, layers.length, rule);
  if (!isPowerOfTwo(batch)) refuse('STEP_PLAN', 'a batch that is a power of two', batch, rule);
  if (!isPowerOfTwo(superblock)) refuse('STEP_PLAN', 'a superblock that is a power of two', superblock, rule);
  if (manifest.ybits !== 16 || manifest.gbits !== 16) refuse('STEP_PLAN', '16-bit values and errors', 'others', rule);
  const last = layers[layers.length - 1]!;
  if (loss.kind !== 'softmax-ce') return refuse('STEP_PLAN', 'the loss softmax-ce', loss.kind, rule);
  if (loss.E !== last.g || loss.k !== last.g + 16)
    refuse('STEP_PLAN', 'E = g_L and k = g_L + 16', `${loss.E}, ${loss.k}`, rule);
  for (const layer of layers) checkShifts(layer);
  const table = expTable(loss.E, last.aOut);
  const expVars = log2Ceil(table.findLastIndex((value) => value !== 0) + 1);
  const classes = dims[dims.length - 1]!;
  return {
    manifest,
    layers,
    widthVars: dims.map(log2Ceil),
    stepVars: log2Ceil(superblock),
    batchVars: log2Ceil(batch),
    classes,
    pieces: alignedPieces(0, classes),
    gaps: alignedPieces(classes, 2 ** log2Ceil(classes)),
    lossFraction: last.g,
    reciprocalBits: loss.k,
    expVars,
    expValues: Array.from(table.slice(0, 2 ** expVars)),
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

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value));
}
