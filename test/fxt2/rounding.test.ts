/** How a graph rounds (libs/step/SPEC.md §26): by sums where float64 has room for it, by Floor elsewhere. */
import { expect, it } from 'vitest';
import { InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import { netOf, parseNetManifest } from '#libs/step';
import { hasRoom } from '../../libs/step/src/net/bounds.js';
import { NetEmitter } from '../../libs/step/src/net/emitter.js';
import { roundShift } from '../../libs/step/src/integers.js';
import { encodeModel, GraphBuilder } from '../../libs/step/src/onnx/graph-builder.js';

/** Halves, their neighbours and the ends of the range, both signs. */
function samples(s: number, most: bigint): readonly bigint[] {
  const half = 1n << BigInt(s - 1);
  const near = [0n, half, 3n * half, 5n * half, 12_345n * half, most - half, most];
  const around = near.flatMap((x) => [x - 1n, x, x + 1n]).filter((x) => x >= 0n && x <= most);
  return around.flatMap((x) => [x, -x]);
}

async function rounded(isRoomy: boolean, s: number, values: readonly bigint[]): Promise<readonly bigint[]> {
  const graph = new GraphBuilder('r');
  const e = new NetEmitter(graph, { isTraining: false, overflow: 'saturate', hasRoom: isRoomy, prefix: '' });
  const info = (name: string) => ({ name, type: 'float64', dims: [values.length] }) as const;
  const model = encodeModel(graph.encode('rounding', [info('x')], [info(e.round('x', s))]));
  const session = await InferenceSession.create(model, sessionOptions(1));
  const result = await session.run({ x: new Tensor('float64', Float64Array.from(values, Number), [values.length]) });
  await session.release();
  return Array.from(Object.values(result)[0]!.data as Float64Array, BigInt);
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

const wide = (w: number, wint: number) =>
  netOf(
    parseNetManifest({
      ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 2, steps: 4, input: { shape: [3], dtype: 'int16', frac: 8 } },
      ...{ a: 8, g: 10, w, wint, layers: [{ op: 'dense', out: 2 }], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
      optimizer: { kind: 'sgd', lr: { frac: 24, points: [[0, 1]] } },
    }),
  );

it('there is room only where every worst case stays below 2^52', () => {
  expect(hasRoom(wide(28, 3))).toBe(true);
  expect(hasRoom(wide(47, 4))).toBe(true);
  expect(hasRoom(wide(48, 4))).toBe(false);
});
