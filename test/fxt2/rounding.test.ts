/** How a graph rounds (libs/step/SPEC.md §26): by sums where float64 has room for it, by Floor elsewhere. */
import { describe, expect, it } from 'vitest';
import { InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import { clamp, drawnParameters, netOf, parseNetManifest } from '#libs/step';
import { engineOutcome, referenceOutcome, seeded, smallNet } from '#test/net-agreement';
import { hasRoom } from '../../libs/step/src/net/bounds.js';
import { NetEmitter } from '../../libs/step/src/net/emitter.js';
import { emitSoftmax, softmaxRow } from '../../libs/step/src/net/losses/softmax-ce.js';
import { roundShift } from '../../libs/step/src/integers.js';
import { encodeModel, GraphBuilder } from '../../libs/step/src/onnx/graph-builder.js';

/** Halves, their neighbours and the ends of the range, both signs. */
function samples(s: number, most: bigint): readonly bigint[] {
  const half = 1n << BigInt(s - 1);
  const near = [0n, half, 3n * half, 5n * half, 12_345n * half, most - half, most];
  const around = near.flatMap((x) => [x - 1n, x, x + 1n]).filter((x) => x >= 0n && x <= most);
  return around.flatMap((x) => [x, -x]);
}

/** What one tensor becomes. @param dims of the tensor and of the result */
async function computed(
  isRoomy: boolean,
  dims: readonly number[],
  values: readonly number[],
  emit: (e: NetEmitter) => string,
): Promise<readonly number[]> {
  const graph = new GraphBuilder('r');
  const e = new NetEmitter(graph, {
    isTraining: false,
    overflow: 'saturate',
    hasRoom: isRoomy,
    records: 0,
    prefix: '',
  });
  const info = (name: string) => ({ name, type: 'float64', dims }) as const;
  e.output(emit(e), 'y');
  const model = encodeModel(graph.encode('rounding', [info('x')], [info('y')]));
  const session = await InferenceSession.create(model, sessionOptions(1));
  const result = await session.run({ x: new Tensor('float64', Float64Array.from(values), dims) });
  await session.release();
  return Array.from(Object.values(result)[0]!.data as Float64Array);
}

async function rounded(isRoomy: boolean, s: number, values: readonly bigint[]): Promise<readonly bigint[]> {
  const given = values.map(Number);
  return (await computed(isRoomy, [given.length], given, (e) => e.round('x', s))).map(BigInt);
}

it.each([
  [true, (1n << 52n) - 1n],
  [false, (1n << 52n) - 1n],
])('with room %s every half rounds up, and nothing else moves', async (isRoomy, most) => {
  for (const s of [1, 2, 7, 14, 24, 40, 51]) {
    const values = samples(s, most);
    const expected = values.map((x) => roundShift(x, s));
    expect(await rounded(isRoomy, s, values), `shift ${s}`).toEqual(expected);
  }
});

it.each([4, -6, -12])('rounded and cut as numbers 2^%d times as large', async (bits) => {
  for (const s of [1, 7, 14, 24]) {
    const values = [...samples(s, 1n << 40n), ...samples(s, 1n << BigInt(15 + s))];
    const given = values.map((x) => Number(x) * 2 ** (bits - s));
    const expected = values.map((x) => Number(clamp(roundShift(x, s), -32_768n, 32_767n)) * 2 ** bits);
    expect(await computed(true, [given.length], given, (e) => e.satScaled('x', s, bits)), `shift ${s}`).toEqual(
      expected.map((x) => x + 0),
    );
  }
});

describe('shares', () => {
  const [rows, classes] = [400, 5];
  const next = seeded(7);
  const logits = Array.from({ length: rows * classes }, () => Math.round((next() - 0.5) * 2 ** (2 + 8 * next())));
  // Few bits are rounded off, so that many shares lie at halves.
  const softmax = { E: 12, k: 14, a: 8, out: 12 };
  const expected = Array.from({ length: rows }, (_, row) =>
    softmaxRow(logits.slice(row * classes, (row + 1) * classes).map(BigInt), softmax).map(Number),
  ).flat();

  it.each([true, false])('with room %s round halves up', async (isRoomy) => {
    const shares = await computed(isRoomy, [rows, classes], logits, (e) => emitSoftmax(e, 'x', softmax));
    expect(shares).toEqual(expected);
  });

  it.each([true, false])('with room %s are those of the floors of what is not whole', async (isRoomy) => {
    const above = logits.map((y, i) => y + [2 ** -20, 0.5, 1 - 2 ** -20][i % 3]!);
    const way = { isMasked: false, isFloored: true };
    const shares = await computed(isRoomy, [rows, classes], above, (e) => emitSoftmax(e, 'x', softmax, way));
    expect(shares).toEqual(expected);
  });
});

const wide = (w: number, wint: number) =>
  netOf(
    parseNetManifest({
      ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 2, steps: 4, input: { shape: [3], dtype: 'int16', frac: 8 } },
      ...{ a: 8, g: 10, w, wint, layers: [{ op: 'dense', out: 2 }], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
      optimizer: { kind: 'sgd', lr: { frac: 24, points: [[0, 1]] } },
    }),
  );

it('there is room only where every worst case stays below 2^52, and parameters below 2^50', () => {
  expect(hasRoom(wide(28, 3))).toBe(true);
  expect(hasRoom(wide(46, 4))).toBe(true);
  expect(hasRoom(wide(47, 4))).toBe(false);
  expect(hasRoom(wide(48, 4))).toBe(false);
});

it.each([46, 47])('with w %i a weight that a step takes out of its guard and decay brings back is exact', async (w) => {
  const m = smallNet([{ op: 'dense', out: 1, bias: false }], {
    ...{ batch: 1, input: { shape: [1], dtype: 'int16', frac: 8 }, labelShape: [1], loss: { kind: 'mse' }, g: 8 },
    ...{ w, wint: 4, optimizer: { kind: 'sgd', decay: 2 ** 22, lr: { frac: w - 8, points: [[0, 2 ** (w - 44)]] } } },
  });
  for (const sign of [1, -1]) {
    const top = BigInt(sign) * (2n ** BigInt(w + 4) - 1n);
    const parameters = drawnParameters(m).map((one) => ({ ...one, values: one.values.fill(top) }));
    for (const far of [1, 2, 3, 4]) {
      // The output is 256 or −256, and the step as far beyond the weight as the target is beyond it.
      const examples = { count: 1, features: Int16Array.of(16), labels: Int32Array.of(sign * (256 + far)) };
      const expected = referenceOutcome(m, parameters, examples);
      expect(expected.isRefused).toBe(false);
      expect(await engineOutcome(m, parameters, examples)).toEqual(expected);
    }
  }
});
