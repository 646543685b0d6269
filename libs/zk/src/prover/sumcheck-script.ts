/** The prover's side of sumchecks in mean form: plaintext messages in order (libs/zk/SPEC.md §6). */
import { extAt, extView } from '../commit/arrays.js';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { Backend } from './backend.js';
import type { RecordingTranscript } from './recording-transcript.js';

/** A part of the prover: yields messages in the clear, takes challenges from the transcript. */
export type Script<T = void> = Generator<Ext, T, undefined>;

/** coefficient·f·g; with fewer variables than the sumcheck it joins late. Folding consumes f and g. */
interface ProductTerm {
  readonly coefficient: Ext;
  readonly f: ExtArray;
  readonly g: ExtArray;
}

interface SumcheckEnd {
  readonly point: Point;
  /** f and g of every term at the point. */
  readonly values: readonly (readonly [Ext, Ext])[];
}

export function* productSumcheck(
  backend: Backend,
  transcript: RecordingTranscript,
  point: Point,
  terms: readonly ProductTerm[],
): Script<SumcheckEnd> {
  const state = terms.map(({ f, g }) => ({ f, g }));
  const challenges: Ext[] = [];
  for (let j = 0; j < point.length; j++) {
    const rest = point.slice(j + 1);
    const active = state.map(({ f }) => f.length / 2 === 2 ** (point.length - j));
    let [d, e] = [F.ZERO, F.ZERO];
    state.forEach(({ f, g }, k) => {
      if (!active[k]) return;
      const round = backend.productRound(rest, f, g);
      d = F.add(d, F.mul(terms[k]!.coefficient, round.d));
      e = F.add(e, F.mul(terms[k]!.coefficient, round.e));
    });
    yield d;
    yield e;
    const rho = transcript.take('maskedRound');
    challenges.push(rho);
    state.forEach((term, k) => {
      if (!active[k]) return;
      term.f = backend.fold(term.f, rho);
      term.g = backend.fold(term.g, rho);
    });
  }
  return { point: challenges, values: state.map(({ f, g }) => [extAt(f, 0), extAt(g, 0)] as const) };
}

/** 1, γ, γ² … as coefficients of terms. */
export function batched(terms: readonly { f: ExtArray; g: ExtArray }[], gamma: Ext): ProductTerm[] {
  let power = F.ONE;
  return terms.map(({ f, g }) => {
    const coefficient = power;
    power = F.mul(power, gamma);
    return { coefficient, f, g };
  });
}

/** A copy over the extension, in the backend's memory. */
export function lifted(backend: Backend, base: BaseArray): ExtArray {
  const out = backend.ext(base.length);
  backend.combine(out, [base], [F.ONE], F.ZERO);
  return out;
}

/** Multilinear evaluation of base values. */
export function evaluateBase(backend: Backend, values: BaseArray, point: Point): Ext {
  const mark = backend.mark();
  const value = extAt(backend.bind(values, backend.eqTable(point, F.ONE), 1), 0);
  backend.release(mark);
  return value;
}

/** Scales consecutive segments of equal length: out[k][x] = factors[k]·values[k][x]. */
export function scaledSegments(backend: Backend, values: ExtArray, factors: readonly Ext[]): ExtArray {
  const out = backend.ext(values.length / 2);
  const size = values.length / 2 / factors.length;
  factors.forEach((factor, k) => {
    backend.addScaled(extView(out, k * size, size), extView(values, k * size, size), factor);
  });
  return out;
}
