/**
 * What the norms over the last axis share (libs/step/SPEC.md §22). With `xs` the input at fraction `f = a_i + 4`,
 * centred by the layer norm: `r = ISQRT(FDIV(Σ xs², D) + eps)`, `inv = FDIV(2^34, r)`, `n = SAT(RS(xs·inv, 24))`,
 * `y = SAT(RS(n·γc + RS(β, w_b − (10+c)), 10 + c − a_o))`.
 */
import { divRound, floorDiv, isqrt, roundShift } from '../../integers.js';
import {
  bound,
  computeMax,
  edgeMax,
  roundingValue,
  type NetBound,
  type NetLayer,
  type ParameterDraft,
} from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { columnSums, rowsOf, type IntTensor } from '../tensor.js';
import { emittedRows, isTrained, rowsIn } from './dense.js';
import type { EmittedPass, NetOp, ParameterNames, ParameterValues, Passed, ReferenceRun } from './op.js';

export interface Norm {
  /** Added to the mean of the squares, at fraction `2·(a_i + 4)`. */
  readonly eps: number;
}

type NormLayer = NetLayer<Norm>;
type Faces = Pick<
  NetOp<Norm>,
  | 'members'
  | 'arity'
  | 'parse'
  | 'shape'
  | 'bounds'
  | 'forward'
  | 'backward'
  | 'emitForward'
  | 'emitBackward'
  | 'unprovable'
>;

/** Fraction of the normalised values `n`. */
const normFraction = 10;
const epsMax = 2 ** 40;
const widthMax = 4096n;

/** All faces but the float one. @param isCentred a layer norm: with the mean taken off, and with β */
export function normFaces(isCentred: boolean): Faces {
  return {
    members: ['eps'],
    arity: 1,
    parse: (read, [input]) => ({ eps: read.integer('eps', 1, epsMax, defaultEps(input!.a)) }),
    shape: (_, [input], { g }, { batch }) => ({
      shape: input!.shape,
      parameters: gains(input!.shape, g, rowsIn(batch, input!.shape), isCentred),
    }),
    bounds: normBounds,
    forward: (layer, [x], p, run) => forward(layer, x!, p, run, isCentred),
    backward(layer, G, { saved }, p, [wanted], run) {
      const { n } = saved;
      const width = n!.dims.at(-1)!;
      const gradients = {
        ...(isTrained(layer, 'W') && {
          W: columnSums(
            n!.data.map((value, i) => value * G.data[i]!),
            width,
          ),
        }),
        ...(isTrained(layer, 'b') && { b: columnSums(G.data, width) }),
      };
      return { inputs: [wanted === true ? inputError(layer, G, saved, p, run, isCentred) : undefined], gradients };
    },
    emitForward: (e, layer, [x], p) => emitForward(e, layer, x!, p, isCentred),
    emitBackward(e, layer, G, { saved }, p, [wanted]) {
      const width = layer.output.shape.at(-1)!;
      const columns = (x: string): string => e.columnSums(e.rows(x, width), emittedRows(e, layer));
      const gradients = {
        ...(isTrained(layer, 'W') && { W: columns(e.mul(saved.n!, G)) }),
        ...(isTrained(layer, 'b') && { b: columns(G) }),
      };
      return { inputs: [wanted === true ? emitInputError(e, layer, G, saved, p, isCentred) : undefined], gradients };
    },
    unprovable: () => ['a norm has no step proof'],
  };
}

/** `eps` as a real number. */
export function realEps({ members: { eps }, inputs: [input] }: NormLayer): number {
  return eps * 4 ** -(input!.a + 4);
}

/** `max(1, round(10^-5·4^f))`. */
function defaultEps(a: number): number {
  const rounded = divRound(4n ** BigInt(a + 4), 100_000n);
  return rounded < 1n ? 1 : Number(rounded);
}

function gains(shape: readonly number[], g: number, rows: bigint, isCentred: boolean): readonly ParameterDraft[] {
  const common = { dims: [shape.at(-1)!], decays: false };
  const gain: ParameterDraft = {
    ...{ ...common, role: 'W', start: 'one' },
    ...{ gradientFraction: normFraction + g, gradientMax: rows * edgeMax * edgeMax },
  };
  if (!isCentred) return [gain];
  return [gain, { ...common, role: 'b', start: 'zero', gradientFraction: g, gradientMax: rows * edgeMax }];
}

function normBounds(layer: NormLayer): readonly NetBound[] {
  const { id, inputs, members, parameters } = layer;
  const { W, b } = parameters;
  const width = BigInt(inputs[0]!.shape.at(-1)!);
  const scaled = (1n << 20n) * floorDiv(1n << 34n, isqrt(BigInt(members.eps)));
  const product = edgeMax * computeMax(W!);
  const ofBias = b === undefined ? 0n : 1n << BigInt(b.fraction + b.wint);
  const moved = b === undefined ? 0n : ofBias << BigInt(Math.max(0, -biasShift(layer)));
  return [
    bound('NORM', id, width, widthMax + 1n),
    bound('NORM', id, width << 40n),
    bound('NORM', id, roundingValue(scaled, 24)),
    bound('PRODUCT', id, roundingValue(product + moved, outputShift(layer))),
    ...(b === undefined ? [] : [bound('PRODUCT', id, roundingValue(ofBias, biasShift(layer)))]),
    ...(inputs[0]!.hasError
      ? [
          bound('ERROR', id, roundingValue(product, W!.compute)),
          bound('NORM', id, roundingValue(scaled, errorShift(layer))),
        ]
      : []),
  ];
}

function outputShift({ parameters, output }: NormLayer): number {
  return normFraction + parameters.W!.compute - output.a;
}

function biasShift({ parameters }: NormLayer): number {
  return parameters.b!.fraction - (normFraction + parameters.b!.compute);
}

function errorShift({ inputs, output }: NormLayer): number {
  return 34 - inputs[0]!.a + output.g - inputs[0]!.g;
}

function forward(
  layer: NormLayer,
  x: IntTensor,
  { Wc, b }: ParameterValues,
  run: ReferenceRun,
  isCentred: boolean,
): Pick<Passed, 'output' | 'saved'> {
  const { rows, width } = rowsOf(x);
  const D = BigInt(width);
  const n: bigint[] = [];
  const inv: bigint[] = [];
  for (let row = 0; row < rows; row++) {
    const x16 = x.data.slice(row * width, (row + 1) * width).map((value) => 16n * value);
    const mean = isCentred ? divRound(sum(x16), D) : 0n;
    const xs = x16.map((value) => value - mean);
    const r = isqrt(floorDiv(sum(xs.map((value) => value * value)), D) + BigInt(layer.members.eps));
    inv.push(floorDiv(1n << 34n, r));
    for (const value of xs) n.push(run.sat(roundShift(value * inv[row]!, 24), layer.id));
  }
  const addend = b?.map((value) => roundShift(value, biasShift(layer)));
  const s = outputShift(layer);
  const y = n.map((value, i) =>
    run.sat(roundShift(value * Wc![i % width]! + (addend?.[i % width] ?? 0n), s), layer.id),
  );
  const saved = { n: { dims: x.dims, data: n }, inv: { dims: [rows], data: inv } };
  return { output: { dims: x.dims, data: y }, saved };
}

function inputError(
  layer: NormLayer,
  G: IntTensor,
  { n, inv }: Passed['saved'],
  { Wc }: ParameterValues,
  run: ReferenceRun,
  isCentred: boolean,
): IntTensor {
  const { rows, width } = rowsOf(G);
  const D = BigInt(width);
  const { compute } = layer.parameters.W!;
  const data: bigint[] = [];
  for (let row = 0; row < rows; row++) {
    const own = n!.data.slice(row * width, (row + 1) * width);
    const dn = own.map((_, j) => run.sat(roundShift(G.data[row * width + j]! * Wc![j]!, compute), layer.id));
    const u = divRound(sum(dn.map((value, j) => value * own[j]!)), D);
    const mean = isCentred ? divRound(1024n * sum(dn), D) : 0n;
    dn.forEach((value, j) => {
      const exact = 1024n * value - roundShift(own[j]! * u, normFraction) - mean;
      const t = run.sat(roundShift(exact, 6), layer.id, 21);
      data.push(run.sat(roundShift(t * inv!.data[row]!, errorShift(layer)), layer.inputs[0]!.id));
    });
  }
  return { dims: G.dims, data };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

function emitForward(
  e: NetEmitter,
  layer: NormLayer,
  x: string,
  { Wc, b }: ParameterNames,
  isCentred: boolean,
): Pick<EmittedPass, 'output' | 'saved'> {
  const D = layer.output.shape.at(-1)!;
  // Without a mean to take off, what is small takes the scale of 2^4.
  const bits = isCentred ? 4 : 0;
  const moved = e.scale(x, bits);
  const xs = isCentred ? e.sub(moved, e.column(e.divRoundBy(e.sum(moved, -1, 0), D))) : moved;
  const squares = e.node('ReduceSumSquare', [xs], { axes: { ints: [-1] }, keepdims: { int: 0 } });
  const mean = e.floorDiv(squares, e.scalar(D * 2 ** (2 * bits - 8)));
  const r = e.isqrt(e.add(mean, e.scalar(layer.members.eps)));
  const inv = e.floorDiv(e.scalar(2 ** 34), r);
  const n = e.sat(e.roundedByRow(xs, inv, 24, 4 - bits), layer);
  const s = outputShift(layer);
  const y = b === undefined ? e.roundedBy(n, Wc!, s) : e.round(e.add(e.mul(n, Wc!), e.round(b, biasShift(layer))), s);
  return { output: e.sat(y, layer.output), saved: { n, inv } };
}

function emitInputError(
  e: NetEmitter,
  layer: NormLayer,
  G: string,
  { n, inv }: EmittedPass['saved'],
  { Wc }: ParameterNames,
  isCentred: boolean,
): string {
  const D = layer.output.shape.at(-1)!;
  const { compute } = layer.parameters.W!;
  if (e.mayScale && compute > 0) return emitScaledError(e, layer, G, { n: n!, inv: inv! }, Wc!, isCentred);
  const dn = e.sat(e.roundedBy(G, Wc!, compute), layer);
  const u = e.divRoundBy(e.sum(e.mul(dn, n!), -1, 0), D);
  const along = e.sub(e.scale(dn, 10), e.roundedByRow(n!, u, normFraction));
  const exact = isCentred ? e.sub(along, e.column(e.divRoundBy(e.scale(e.sum(dn, -1, 0), 10), D))) : along;
  const t = e.sat(e.round(exact, 6), layer, 21);
  return e.sat(e.roundedByRow(t, inv!, errorShift(layer)), layer.inputs[0]!);
}

/** The same with `dn` 2^4 times as large and `RS(n·u, 10)` by 2^-6, so that `t` is rounded from their difference. */
function emitScaledError(
  e: NetEmitter,
  layer: NormLayer,
  G: string,
  { n, inv }: { readonly n: string; readonly inv: string },
  Wc: string,
  isCentred: boolean,
): string {
  const D = layer.output.shape.at(-1)!;
  const { compute } = layer.parameters.W!;
  const dn = e.satScaled(e.mul(G, e.scale(Wc, 4 - compute)), compute, 4);
  const u = e.divRoundBy(e.scale(e.sum(e.mul(dn, n), -1, 0), -4), D);
  const product = e.add(e.mul(n, e.column(e.scale(u, -normFraction - 6))), e.scalar(2 ** -6 * e.half(normFraction)));
  const along = e.sub(dn, e.whole(product, -6));
  const exact = isCentred ? e.sub(along, e.column(e.scale(e.divRoundBy(e.scale(e.sum(dn, -1, 0), 6), D), -6))) : along;
  const t = e.sat(e.nearest(exact, 6), layer, 21);
  return e.sat(e.roundedByRow(t, inv, errorShift(layer)), layer.inputs[0]!);
}
