/**
 * What a training graph counts on the edges of a net, outside the semantics (libs/step/SPEC.md §21.1): values and errors
 * that lie at an end of their range, and errors that are 0.
 */
import { sizeOf } from '../tensors.js';
import { batchParts } from './batch-parts.js';
import { edgeMax, type Edge } from './edge.js';
import type { NetEmitter } from './emitter.js';
import type { Net } from './net.js';

/** Of an edge over some steps. */
export interface EdgeCounts {
  readonly edge: string;
  /** Elements that were looked at; 0 where none were. */
  readonly values: number;
  /** Of them those at an end of 16 bits, or at the upper end of a relu. */
  readonly saturatedValues: number;
  readonly errors: number;
  readonly saturatedErrors: number;
  readonly zeroErrors: number;
}

/** An edge that is counted: three columns of the output `counts` each. */
export interface CountedEdge {
  readonly edge: string;
  /** Elements of a step. */
  readonly elements: number;
  readonly hasError: boolean;
}

const columns = 3;
const top = 32_767;
/** A count takes several passes over a tensor: of a batch one record in so many is looked at, but a few at least. */
const oneIn = 16;
const recordsMin = 4;

/** Records that are looked at, the first of every batch; blocks hold records in an order drawn from the seed. */
function countedRecords(net: Net): number {
  const { batch } = net.manifest;
  return Math.min(batch / batchParts(net), Math.max(recordsMin, Math.ceil(batch / oneIn)));
}

/** Output edges of the layers, but of those that only reshape. */
export function countedEdges(net: Net): readonly CountedEdge[] {
  const records = countedRecords(net);
  return net.layers
    .filter(({ op }) => op !== 'flatten')
    .map(({ output }) => ({
      ...{ edge: output.id, hasError: output.hasError },
      elements: records * sizeOf(output.shape),
    }));
}

/** Numbers of a step in the output `counts`. */
export function countColumns(counted: readonly CountedEdge[]): number {
  return columns * counted.length;
}

interface CountedTensors {
  /** By edge, of the same records: a batch, or its first part. */
  readonly values: ReadonlyMap<string, string>;
  /** The whole error of an edge. */
  readonly errors: ReadonlyMap<string, string>;
}

/** @returns name of the counts of a step, float64 [columns], in the order of `countedEdges` */
export function emitCounts(e: NetEmitter, net: Net, { values, errors }: CountedTensors): string {
  const records = countedRecords(net);
  const first = (x: string): string => e.slice(x, 0, 0, records);
  const none = e.cast(e.vector(0), 'int32');
  const outputs = new Map(net.layers.map(({ output }) => [output.id, output]));
  const counts = countedEdges(net).flatMap(({ edge }) => {
    const ofValues = count(e, atEnds(e, outputs.get(edge)!, first(values.get(edge)!)));
    const error = errors.get(edge);
    if (error === undefined) return [ofValues, none, none];
    const some = first(error);
    return [ofValues, count(e, atBothEnds(e, some)), count(e, e.node('Equal', [some, e.scalar(0)]))];
  });
  return e.cast(e.concat(counts, 0), 'float64');
}

/** Of a relu the upper end is its own, and the lower is what it is for. */
function atEnds(e: NetEmitter, { max }: Edge, x: string): string {
  return max < edgeMax ? e.node('GreaterOrEqual', [x, e.scalar(Number(max))]) : atBothEnds(e, x);
}

function atBothEnds(e: NetEmitter, x: string): string {
  return e.node('Or', [e.node('GreaterOrEqual', [x, e.scalar(top)]), e.node('LessOrEqual', [x, e.scalar(-top - 1)])]);
}

/** How often it holds: int32 [1]. */
function count(e: NetEmitter, condition: string): string {
  return e.sum(e.reshape(e.cast(condition, 'int32'), [1, -1]), 1, 0);
}

/** @param data the output `counts` of some steps, [steps, columns] */
export function readCounts(counted: readonly CountedEdge[], data: Float64Array): readonly EdgeCounts[] {
  const width = countColumns(counted);
  const steps = data.length / width;
  const sum = (column: number): number => {
    let total = 0;
    for (let at = column; at < data.length; at += width) total += data[at]!;
    return total;
  };
  return counted.map(({ edge, elements, hasError }, i) => ({
    ...{ edge, values: steps * elements, saturatedValues: sum(columns * i) },
    ...{
      errors: hasError ? steps * elements : 0,
      saturatedErrors: sum(columns * i + 1),
      zeroErrors: sum(columns * i + 2),
    },
  }));
}

/** Counts of the same edges over more steps; the first may be none. */
export function addCounts(some: readonly EdgeCounts[], more: readonly EdgeCounts[]): readonly EdgeCounts[] {
  if (some.length === 0) return more;
  return more.map((one, i) => {
    const before = some[i]!;
    return {
      edge: one.edge,
      values: before.values + one.values,
      saturatedValues: before.saturatedValues + one.saturatedValues,
      errors: before.errors + one.errors,
      saturatedErrors: before.saturatedErrors + one.saturatedErrors,
      zeroErrors: before.zeroErrors + one.zeroErrors,
    };
  });
}
