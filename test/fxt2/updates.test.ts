/** Optimizers and losses of `fxt/2`: the engine's graph against the reference over BigInt, on small nets of any members. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  blocksOfSteps,
  drawnParameters,
  frozenOf,
  GuardViolation,
  netStepReference,
  parseNetManifest,
  startState,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { blockOf } from '#test/net-training';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';

const range = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max });
const factor = range(0, 10).chain((q) => fc.tuple(range(1, 2 ** q), fc.constant(q)));
const points = fc.array(fc.tuple(range(0, 3), range(0, 2 ** 20)), { minLength: 1, maxLength: 5 }).map((parts) => {
  let step = 0;
  return parts.map(([wait, value], i) => [(step += i === 0 ? 0 : wait), value]);
});
const quantised = {
  gq: range(8, 14),
  hbits: range(4, 21),
  clip: range(1, 3000),
  decay: range(0, 1 << 16),
  lr: fc.record({ frac: range(16, 28), points }),
};
const optimizer = fc.oneof(
  fc.record(
    {
      ...{
        kind: fc.constant('adamw'),
        beta1: factor,
        beta2: factor,
        c1: range(2, 9),
        c2: range(2, 5).map((n) => 2 * n),
      },
      ...{ u: range(8, 13), eps: range(1, 100), ...quantised },
    },
    { requiredKeys: ['kind', 'beta1', 'beta2', 'lr'] },
  ),
  fc.record({ kind: fc.constant('sgd'), momentum: factor, ...quantised }, { requiredKeys: ['kind', 'lr'] }),
  fc.record(
    {
      kind: fc.constant('sgd-exact'),
      e: range(4, 10),
      m: fc.constant([
        [0, 1],
        [2, 5],
      ]),
      q: range(1, 6),
    },
    { requiredKeys: ['kind', 'e', 'm'] },
  ),
);

interface Loss {
  readonly json: { readonly kind: string };
  readonly labelShape: readonly number[];
  readonly label: fc.Arbitrary<number>;
}

const outputs = 3;
const loss: fc.Arbitrary<Loss> = fc.oneof(
  fc.constant({ json: { kind: 'softmax-ce', E: 12, k: 28 }, labelShape: [], label: range(-1, outputs - 1) }),
  fc.constant({ json: { kind: 'sigmoid-bce' }, labelShape: [outputs], label: range(0, 1) }),
  fc.record({ kind: fc.constant('mse'), huber: range(1, 40_000) }, { requiredKeys: ['kind'] }).map((json) => ({
    json,
    labelShape: [outputs],
    label: fc.oneof(range(-2000, 2000), range(-(2 ** 31), 2 ** 31 - 1)),
  })),
);

const job = fc
  .record({ optimizer, loss, a: range(6, 12), g: range(8, 15), seed: fc.uint8Array({ minLength: 32, maxLength: 32 }) })
  .chain(({ loss: { json, labelShape, label }, seed, ...rest }) => {
    const batch = 4;
    const count = 2 * batch;
    const labels = labelShape.reduce((product, size) => product * size, count);
    const manifest = {
      ...{ fxt: 2, ...rest, seed: `0x${Buffer.from(seed).toString('hex')}`, batch, steps: 4, labelShape, loss: json },
      ...{ wint: 3, input: { shape: [5], dtype: 'int16', frac: 12 } },
      layers: [
        { op: 'dense', out: 6 },
        { op: 'relu', abits: 13 },
        { op: 'dense', out: outputs },
      ],
    };
    return fc.record({
      manifest: fc.constant(manifest),
      features: fc.array(range(-(2 ** 15), 2 ** 15 - 1), { minLength: 5 * count, maxLength: 5 * count }),
      labels: fc.array(label, { minLength: labels, maxLength: labels }),
      overflow: fc.constantFrom('saturate', 'fail'),
      count: fc.constant(count),
    });
  });

/** A job whose fourth step takes a bias and, in a group of the engine before it, a matrix out of their ranges. */
const twoLeave: typeof job extends fc.Arbitrary<infer T> ? T : never = {
  manifest: {
    ...{ fxt: 2, batch: 4, steps: 4, a: 6, g: 8, wint: 3, labelShape: [outputs] },
    seed: '0xfe9ea4277be063961b62297ea39847e65fed0206cab26431daffc851b607058b',
    input: { shape: [5], dtype: 'int16', frac: 12 },
    layers: [
      { op: 'dense', out: 6 },
      { op: 'relu', abits: 13 },
      { op: 'dense', out: outputs },
    ],
    loss: { kind: 'sigmoid-bce' },
    optimizer: {
      ...{ kind: 'adamw', beta1: [187, 8], beta2: [1, 0], gq: 13, hbits: 16, clip: 21 },
      lr: {
        frac: 18,
        points: [
          [0, 0],
          [3, 236_068],
        ],
      },
    },
  },
  features: [
    ...[-4656, 7481, -14_410, 7721, -11_056, 27_891, 7018, -27_192, 18_055, -3767, -12_665, 26_633, 2768, -4, 11],
    ...[32_414, 0, -31_247, 10_120, -23_524, -24_376, 32_565, 2645, -12_131, 21_623, 10_065, 722, -8936, 13_588],
    ...[27_085, 0, 0, -15_311, 1071, 0, 5130, -3192, 0, -13_507, 10_044],
  ],
  labels: [0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0],
  overflow: 'saturate',
  count: 8,
};

it('the engine and the reference come to the same states, or leave the same range at the same step', async () => {
  const seen = { states: 0, violations: 0, kinds: new Set<string>() };
  await fc.assert(
    fc.asyncProperty(job, async ({ manifest, overflow, features, labels, count }) => {
      const m = manifestOf({ ...manifest, overflow });
      fc.pre(m !== undefined);
      const examples = { count, features: Int16Array.from(features), labels: Int32Array.from(labels) };
      const expected = await byReference(m, examples);
      expect(await byEngine(m, examples)).toEqual(expected);
      seen[typeof expected === 'string' ? 'violations' : 'states']++;
      seen.kinds.add(`${manifest.optimizer.kind} ${manifest.loss.kind}`);
    }),
    { numRuns: 60, examples: [[twoLeave]] },
  );
  expect(seen.kinds.size).toBeGreaterThan(6);
  expect(seen.states).toBeGreaterThan(15);
  expect(seen.violations).toBeGreaterThan(0);
});

it.each(['adamw', 'sgd'])('%s with a clip trains a net of which nothing moves', async (kind) => {
  const lr = { frac: 16, points: [[0, 300]] };
  const beta = kind === 'adamw' ? { beta1: [13, 7], beta2: [1, 10] } : {};
  const m = smallNet([{ op: 'dense', out: 2, frozen: true }], { optimizer: { kind, ...beta, clip: 5, lr } });
  const examples = randomExamples(m, seeded(1), 1);
  expect(await byEngine(m, examples)).toEqual(await byReference(m, examples));
});

function manifestOf(json: object): NetManifest | undefined {
  try {
    return parseNetManifest(json);
  } catch (error) {
    expect(String(error)).toMatch(/STEP_RANGE_(ADAMW|SGD|GRADIENT|CLIP|DECAY|PRODUCT)/);
    return undefined;
  }
}

type Outcome = Weights | string;

/** The state after the last step, or which range was left when. */
async function outcome(train: () => Promise<Weights>): Promise<Outcome> {
  try {
    return await train();
  } catch (error) {
    if (error instanceof GuardViolation) return `${error.step} ${error.tensor}`;
    throw error;
  }
}

function byReference(m: NetManifest, examples: NetExamples): Promise<Outcome> {
  return outcome(() => {
    const start = drawnParameters(m);
    let state = startState(m, start);
    for (let step = 0; step < m.steps; step++) {
      const block = blocksOfSteps(m, step, 1, examples.count)[0]!;
      state = netStepReference(m, state, frozenOf(m, start), blockOf(m, examples, block), step).state;
    }
    return Promise.resolve(state);
  });
}

async function byEngine(m: NetManifest, examples: NetExamples): Promise<Outcome> {
  const start = drawnParameters(m);
  const engine = await NetEngine.open(m, frozenOf(m, start));
  try {
    const dataset = engine.load(examples);
    return await outcome(() =>
      engine.train({ dataset, weights: startState(m, start), fromStep: 0, stepCount: m.steps }),
    );
  } finally {
    await engine.close();
  }
}
