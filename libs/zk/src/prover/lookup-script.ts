/** The prover's messages of F1: the tree of fractions, layer by layer (libs/zk/SPEC.md §7). */
import { extAt, halvesOf } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { Backend, Fractions, RoundValues } from './backend.js';
import type { Cells } from './cells.js';
import { lookupVector } from './lookup-vector.js';
import type { RecordingTranscript } from './recording-transcript.js';
import type { Script } from './sumcheck-script.js';

/** The factors a0, a1, b0, b1 of a layer's sumcheck; b is absent when every lower numerator is 1. */
interface Factors {
  a: [ExtArray, ExtArray];
  b?: [ExtArray, ExtArray];
}

/** @returns ρ, and the sums that close the leaf layer are already sent */
export function* lookupScript(cells: Cells, transcript: RecordingTranscript): Script<{ point: Point; close: Script }> {
  const { backend, plan } = cells;
  const [alpha, beta] = [transcript.take('alpha'), transcript.take('beta')];
  const mark = backend.mark();
  const leaves = lookupVector(cells, alpha, beta);
  const layers: Fractions[] = [backend.leafLayer(leaves.p, leaves.q)];
  while (layers[0]!.q.length > 2) layers.unshift(backend.fractionLayer(layers[0]!.p, layers[0]!.q));
  yield extAt(layers[0]!.q, 0);
  let point: Point = [];
  for (const { p, q } of layers.slice(1)) {
    const lambda = transcript.take('gkrLambda');
    const layerMark = backend.mark();
    const { scaled, sum } = backend.scaledSum(p, q, lambda);
    const end = yield* fractionSumcheck(backend, transcript, point, { a: halvesOf(sum), b: halvesOf(scaled) });
    yield end.a[0];
    yield end.a[1];
    const inverse = F.inverse(lambda);
    yield F.mul(end.b![0], inverse);
    yield F.mul(end.b![1], inverse);
    backend.release(layerMark);
    point = [transcript.take('gkrMu'), ...end.point];
  }
  const lambda = transcript.take('gkrLambda');
  const { scaled, sum } = backend.leafScaledSum(leaves.p, leaves.q, lambda);
  const factors: Factors = { a: halvesOf(sum), ...(plan.lookups.plainLow ? {} : { b: halvesOf(scaled) }) };
  const end = yield* fractionSumcheck(backend, transcript, point, factors);
  backend.release(mark);
  const inverse = F.inverse(lambda);
  const closing = [...end.a, ...(end.b ?? []).map((value) => F.mul(value, inverse))];
  return { point: end.point, close: sendAll(closing) };
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
