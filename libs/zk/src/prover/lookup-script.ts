/** The prover's messages of F1: the tree of fractions, layer by layer (libs/zk/SPEC.md §7). */
import { extAt, extView, halvesOf } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { Backend, Fractions, RoundValues } from './backend.js';
import type { Cells } from './cells.js';
import { LookupVector } from './lookup-vector.js';
import type { RecordingTranscript } from './recording-transcript.js';
import type { Script } from './sumcheck-script.js';

/** The factors a0, a1, b0, b1 of a layer's sumcheck; b is absent when every lower numerator is 1. */
interface Factors {
  a: [ExtArray, ExtArray];
  b?: [ExtArray, ExtArray];
}

/** Most nodes that are computed from the leaves at a time. */
const nodesAtOnce = 2 ** 16;

/**
 * Leaves and the layer above them, three quarters of all nodes, are written when their turn comes: the layers below the
 * root are made from parts of them first.
 *
 * @returns ρ, and the sums that close the leaf layer are already sent
 */
export function* lookupScript(cells: Cells, transcript: RecordingTranscript): Script<{ point: Point; close: Script }> {
  const { backend } = cells;
  const [alpha, beta] = [transcript.take('alpha'), transcript.take('beta')];
  const mark = backend.mark();
  const leaves = new LookupVector(cells, alpha, beta);
  const layers = [{ mark, ...secondLayer(backend, leaves) }];
  for (let below = layers[0]!; below.q.length > 2; below = layers.at(-1)!) {
    const own = backend.mark();
    layers.push({ mark: own, ...backend.fractionLayer(below.p, below.q) });
  }
  yield extAt(layers.pop()!.q, 0);
  let point: Point = [];
  for (const layer of layers.toReversed()) {
    point = yield* layerScript(backend, transcript, point, layer);
    backend.release(layer.mark);
  }
  point = yield* layerScript(backend, transcript, point, firstLayer(backend, leaves, 0, leaves.size / 2));
  backend.release(mark);
  const lambda = transcript.take('gkrLambda');
  const end = yield* fractionSumcheck(backend, transcript, point, leafFactors(cells, leaves, lambda));
  backend.release(mark);
  const inverse = F.inverse(lambda);
  const closing = [...end.a, ...(end.b ?? []).map((value) => F.mul(value, inverse))];
  return { point: end.point, close: sendAll(closing) };
}

/** From a layer's nodes at a point to those of the layer below, whose fractions are lost. */
function* layerScript(
  backend: Backend,
  transcript: RecordingTranscript,
  point: Point,
  { p, q }: Fractions,
): Script<Point> {
  const lambda = transcript.take('gkrLambda');
  const { scaled, sum } = backend.scaledSum(p, q, lambda);
  const end = yield* fractionSumcheck(backend, transcript, point, { a: halvesOf(sum), b: halvesOf(scaled) });
  yield* end.a;
  const inverse = F.inverse(lambda);
  for (const value of end.b!) yield F.mul(value, inverse);
  return [transcript.take('gkrMu'), ...end.point];
}

/** Nodes above the leaves. */
function firstLayer(backend: Backend, leaves: LookupVector, first: number, size: number): Fractions {
  const half = leaves.size / 2;
  const out = { p: backend.ext(size), q: backend.ext(size) };
  const count = Math.min(size, nodesAtOnce);
  const mark = backend.mark();
  const [p, q] = [backend.base(2 * count), backend.ext(2 * count)];
  for (let begin = 0; begin < size; begin += count) {
    leaves.fractions(p.subarray(0, count), extView(q, 0, count), first + begin);
    leaves.fractions(p.subarray(count), extView(q, count, count), half + first + begin);
    backend.leafLayer(p, q, { p: extView(out.p, begin, count), q: extView(out.q, begin, count) });
  }
  backend.release(mark);
  return out;
}

function secondLayer(backend: Backend, leaves: LookupVector): Fractions {
  const size = leaves.size / 4;
  const out = { p: backend.ext(size), q: backend.ext(size) };
  const count = Math.min(size, nodesAtOnce);
  for (let begin = 0; begin < size; begin += count) {
    const mark = backend.mark();
    const [p, q] = [backend.ext(2 * count), backend.ext(2 * count)];
    for (const side of [0, 1]) {
      const inner = backend.mark();
      const part = firstLayer(backend, leaves, side * size + begin, count);
      p.set(part.p, 2 * side * count);
      q.set(part.q, 2 * side * count);
      backend.release(inner);
    }
    const nodes = backend.fractionLayer(p, q);
    out.p.set(nodes.p, 2 * begin);
    out.q.set(nodes.q, 2 * begin);
    backend.release(mark);
  }
  return out;
}

function leafFactors({ backend, plan }: Cells, leaves: LookupVector, lambda: Ext): Factors {
  const a = backend.ext(leaves.size);
  leaves.sums(a, lambda);
  if (plan.lookups.plainLow) return { a: halvesOf(a) };
  const b = backend.ext(leaves.size);
  leaves.scaled(b, lambda);
  return { a: halvesOf(a), b: halvesOf(b) };
}

function* sendAll(values: readonly Ext[]): Script {
  yield* values;
}

interface FractionEnd {
  readonly point: Point;
  readonly a: readonly [Ext, Ext];
  readonly b?: readonly [Ext, Ext];
}

function* fractionSumcheck(
  backend: Backend,
  transcript: RecordingTranscript,
  point: Point,
  factors: Factors,
): Script<FractionEnd> {
  let { a, b } = factors;
  const challenges: Ext[] = [];
  for (let j = 0; j < point.length; j++) {
    const rest = point.slice(j + 1);
    const round: RoundValues = b
      ? backend.fractionRound(rest, a[0], a[1], b[0], b[1])
      : backend.productRound(rest, a[0], a[1]);
    yield round.d;
    yield round.e;
    const rho = transcript.take('maskedRound');
    challenges.push(rho);
    a = [backend.fold(a[0], rho), backend.fold(a[1], rho)];
    if (b) b = [backend.fold(b[0], rho), backend.fold(b[1], rho)];
  }
  const ends = (pair: [ExtArray, ExtArray]): [Ext, Ext] => [extAt(pair[0], 0), extAt(pair[1], 0)];
  return { point: challenges, a: ends(a), ...(b ? { b: ends(b) } : {}) };
}
