import { describe, expect, it } from 'vitest';
import { GuardViolation } from '../../errors.js';
import { netOf, parseNetManifest } from '../manifest.js';
import type { ReferenceRun } from '../ops/op.js';

const cutting: ReferenceRun = {
  step: 0,
  sat: (x) => (x > 32_767n ? 32_767n : x < -32_768n ? -32_768n : x),
};
const failing: ReferenceRun = {
  step: 3,
  sat(x, layer) {
    if (cutting.sat(x, layer) !== x) throw new GuardViolation(3, layer, '16 bits', String(x));
    return x;
  },
};

/** A dense layer of `out` outputs at fraction a with errors at fraction g, in front of this loss. */
function net(loss: object, labelShape: readonly number[], { out = 2, a = 12, g = 12, shape = [3] } = {}) {
  return netOf(
    parseNetManifest({
      ...{ fxt: 2, seed: `0x${'11'.repeat(32)}`, batch: 1, steps: 1, a: 8, g: 12, wint: 3, labelShape, loss },
      ...{ input: { shape, frac: 8 }, optimizer: { kind: 'sgd-exact', e: 8, m: [[0, 1]] } },
      layers: [{ op: 'dense', out, a, g }],
    }),
  );
}

function gradient({ loss }: ReturnType<typeof net>, Y: readonly number[], labels: readonly number[], run = cutting) {
  const dims = [Y.length / loss.place.edge.shape.at(-1)!, loss.place.edge.shape.at(-1)!];
  const output = { dims, data: Y.map(BigInt) };
  return loss.kind.gradient(loss.members, loss.place, output, Int32Array.from(labels), run).data.map(Number);
}

describe('squared error', () => {
  it('rounds Y − τ to the fraction of errors, halves up', () => {
    const coarse = net({ kind: 'mse' }, [2], { g: 10 });
    expect(gradient(coarse, [5, -5, 6, -6], [0, 0, 0, 0])).toEqual([1, -1, 2, -1]);
    expect(gradient(net({ kind: 'mse' }, [2], { g: 14 }), [5, -5], [0, 1])).toEqual([20, -24]);
  });

  it('keeps within ±huber before it saturates, so that a guard does not see the target', () => {
    const m = net({ kind: 'mse', huber: 16_000 }, [2]);
    expect(gradient(m, [0, 0, 16_000, 16_001], [2 ** 31 - 1, -(2 ** 31), 0, 0], failing)).toEqual([
      ...[-16_000, 16_000, 16_000, 16_000],
    ]);
  });

  it('saturates without huber, and under a guard ends the step', () => {
    const m = net({ kind: 'mse' }, [2]);
    expect(gradient(m, [0, 0], [2 ** 31 - 1, -(2 ** 31)])).toEqual([-32_768, 32_767]);
    expect(gradient(m, [-32_768, 32_767], [0, 0], failing)).toEqual([-32_768, 32_767]);
    expect(() => gradient(m, [32_767, 0], [-1, 0], failing)).toThrow('step 3, tensor n0, value 32768');
  });

  it('saturates at a huber beyond 16 bits', () => {
    expect(gradient(net({ kind: 'mse', huber: 40_000 }, [2]), [0, 0], [-50_000, 50_000])).toEqual([32_767, -32_768]);
  });
});

describe('binary cross-entropy', () => {
  it('is the logistic function less the target', () => {
    const m = net({ kind: 'sigmoid-bce' }, [2], { a: 10, g: 12 });
    const sigmoid = (y: number): number => Math.floor(4096 / (1 + Math.exp(-y / 1024)) + 0.5);
    expect(gradient(m, [0, 1024], [0, 0])).toEqual([2048, sigmoid(1024)]);
    expect(gradient(m, [-1024, 0], [1, 1])).toEqual([sigmoid(-1024) - 4096, -2048]);
  });

  it('reaches ±2^g at the ends of the outputs, which is not cut', () => {
    const m = net({ kind: 'sigmoid-bce' }, [2], { a: 8, g: 15 });
    expect(gradient(m, [32_767, -32_768], [0, 1], failing)).toEqual([32_768, -32_768]);
  });
});

describe('cross-entropy of classes', () => {
  it('asks nothing of a row of class −1', () => {
    const m = net({ kind: 'softmax-ce', E: 12, k: 28 }, [2], { a: 8, g: 12, shape: [2, 3] });
    const rows = gradient(m, [0, 0, 0, 0], [-1, 1]);
    expect(rows).toEqual([0, 0, 2048, -2048]);
  });
});

describe('members and labels', () => {
  it.each([
    ['targets of another shape', { kind: 'mse' }, [3], 'MANIFEST_LABEL'],
    ['bits of another shape', { kind: 'sigmoid-bce' }, [], 'MANIFEST_LABEL'],
    ['a class beside outputs of one axis', { kind: 'softmax-ce', E: 12, k: 28 }, [2], 'MANIFEST_LABEL'],
    ['k too small', { kind: 'softmax-ce', E: 12, k: 22 }, [], 'MANIFEST_LOSS'],
    ['huber of 0', { kind: 'mse', huber: 0 }, [2], 'MANIFEST_RANGE'],
    ['a member that none has', { kind: 'sigmoid-bce', E: 12 }, [2], 'MANIFEST_UNKNOWN_FIELD'],
  ])('%s: refused', (_, loss, labelShape, code) => {
    expect(() => net(loss, labelShape)).toThrow(code);
  });

  it.each([
    ['sigmoid-bce', { kind: 'sigmoid-bce' }, [2]],
    ['softmax-ce', { kind: 'softmax-ce', E: 12, k: 28 }, []],
  ])('%s with errors of more than 15 fractional bits: refused', (_, loss, labelShape) => {
    expect(() => net(loss, labelShape, { g: 16 })).toThrow('STEP_RANGE_START');
  });
});
