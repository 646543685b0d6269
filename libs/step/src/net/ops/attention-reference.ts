/** Attention over BigInt (libs/step/SPEC.md §22), one record and one head at a time. */
import { roundShift } from '../../integers.js';
import { softmaxRow } from '../losses/softmax-ce.js';
import { product, transposed, type IntTensor } from '../tensor.js';
import type { AttentionPlace } from './attention-place.js';
import type { Passed, ReferenceRun } from './op.js';

/** Shares `P` are kept as [batch, heads, T, T]; those of places that do not exist are 0. */
export function attend(
  place: AttentionPlace,
  [q, k, v]: readonly IntTensor[],
  run: ReferenceRun,
): Pick<Passed, 'output' | 'saved'> {
  const { layer, T, d, sigma, shifts } = place;
  const { heads, causal, E, k: iotaBits } = layer.members;
  const batch = q!.dims[0]!;
  const shares: bigint[] = [];
  const y = new Array<bigint>(q!.data.length);
  for (let head = 0; head < batch * heads; head++) {
    const [Q, K, V] = [q!, k!, v!].map((x) => headOf(place, x, head)) as [bigint[], bigint[], bigint[]];
    const products = product(Q, transposed(K, T, d), [T, d, T]);
    const P: bigint[] = [];
    for (let i = 0; i < T; i++) {
      const seen = causal ? i + 1 : T;
      const S = products.slice(i * T, i * T + seen).map((x) => run.sat(roundShift(x * sigma, shifts.S), layer.id));
      for (const share of softmaxRow(S, { E, k: iotaBits, a: layer.inputs[0]!.a, out: 12 })) P.push(share);
      for (let j = seen; j < T; j++) P.push(0n);
    }
    const Y = product(P, V, [T, T, d]).map((x) => run.sat(roundShift(x, shifts.y), layer.id));
    putHead(place, y, head, Y);
    for (const share of P) shares.push(share);
  }
  return {
    output: { dims: q!.dims, data: y },
    saved: { P: { dims: [batch, heads, T, T], data: shares } },
  };
}

/** @returns contributions to queries, keys and values, where wanted */
export function attendBack(
  place: AttentionPlace,
  G: IntTensor,
  inputs: readonly IntTensor[],
  { data: shares }: IntTensor,
  wanted: readonly boolean[],
  run: ReferenceRun,
): readonly (IntTensor | undefined)[] {
  const { layer, T, d, sigma, shifts } = place;
  const errors = inputs.map((x, i) => (wanted[i] === true ? new Array<bigint>(x.data.length) : undefined));
  const put = (input: number, head: number, rounded: () => readonly bigint[]): void => {
    const error = errors[input];
    if (error === undefined) return;
    const { id } = layer.inputs[input]!;
    putHead(
      place,
      error,
      head,
      rounded().map((x) => run.sat(x, id)),
    );
  };
  for (let head = 0; head < G.dims[0]! * layer.members.heads; head++) {
    const [Q, K, V] = inputs.map((x) => headOf(place, x, head)) as [bigint[], bigint[], bigint[]];
    const dO = headOf(place, G, head);
    const P = shares.slice(head * T * T, (head + 1) * T * T);
    put(2, head, () => product(transposed(P, T, T), dO, [T, T, d]).map((x) => roundShift(x, shifts.dV)));
    if (wanted[0] !== true && wanted[1] !== true) continue;
    const dS = scoreErrors(place, product(dO, transposed(V, T, d), [T, d, T]), P, run);
    put(0, head, () => product(dS, K, [T, T, d]).map((x) => roundShift(x * sigma, shifts.dQK)));
    put(1, head, () => product(transposed(dS, T, T), Q, [T, T, d]).map((x) => roundShift(x * sigma, shifts.dQK)));
  }
  return errors.map((data, i) => data && { dims: inputs[i]!.dims, data });
}

/** `dS` of one head [T, T] from `dO·Vᵀ`; 0 at places that do not exist. */
function scoreErrors(
  { layer, T, shifts }: AttentionPlace,
  products: readonly bigint[],
  P: readonly bigint[],
  run: ReferenceRun,
): bigint[] {
  const dS: bigint[] = [];
  for (let i = 0; i < T; i++) {
    const seen = layer.members.causal ? i + 1 : T;
    const own = P.slice(i * T, i * T + seen);
    const dP = own.map((_, j) => run.sat(roundShift(products[i * T + j]!, shifts.dP), layer.id, 20));
    const rho = roundShift(
      dP.reduce((sum, x, j) => sum + x * own[j]!, 0n),
      12,
    );
    own.forEach((p, j) => dS.push(run.sat(roundShift(p * (dP[j]! - rho), 12), layer.id, 18)));
    for (let j = seen; j < T; j++) dS.push(0n);
  }
  return dS;
}

/** [T, d] of a head, counted over all records. */
function headOf({ layer, T, d }: AttentionPlace, x: IntTensor, head: number): bigint[] {
  return Array.from({ length: T * d }, (_, i) => x.data[indexOf(layer.members.heads, T, d, head, i)]!);
}

function putHead({ layer, T, d }: AttentionPlace, x: bigint[], head: number, values: readonly bigint[]): void {
  values.forEach((value, i) => (x[indexOf(layer.members.heads, T, d, head, i)] = value));
}

function indexOf(heads: number, T: number, d: number, head: number, i: number): number {
  const record = Math.floor(head / heads);
  const place = record * T + Math.floor(i / d);
  return (place * heads + (head % heads)) * d + (i % d);
}
