/**
 * The range rules against attacks: whatever manifest they let through, a step on the worst records, parameters and
 * optimizer states hands no primitive a number beyond what float64 carries (libs/step/SPEC.md §28).
 */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { Rejection } from '#attestation/base';
import {
  frozenOf,
  GuardViolation,
  netOf,
  netOpNames,
  netStepReference,
  parseNetManifest,
  startState,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { seeded } from '#test/net-agreement';
import { plainNet, proposal, type Json } from '#test/wild-nets';
import { netLosses } from '../../libs/step/src/net/losses/index.js';
import { netOptimizers } from '../../libs/step/src/net/optimizers/index.js';

type NetParameter = ReturnType<typeof netOf>['parameters'][number];

const watch = vi.hoisted(() => ({ isOn: false, hasRules: true, largest: 0n, beyond: [] as string[] }));

function seen(what: string, magnitude: bigint, limit: bigint): void {
  if (!watch.isOn) return;
  const share = (magnitude << 53n) / limit;
  if (share > watch.largest) watch.largest = share;
  if (magnitude >= limit) watch.beyond.push(`${what}: ${magnitude}`);
}

vi.mock('../../libs/step/src/integers.js', async (original) => {
  const real = await original<typeof import('../../libs/step/src/integers.js')>();
  const [carrier, exactRoot] = [1n << 53n, 1n << 52n];
  const abs = (x: bigint): bigint => (x < 0n ? -x : x);
  return {
    ...real,
    roundShift(x: bigint, s: number) {
      seen(`RS by ${s}`, s > 0 ? abs(x) + (1n << BigInt(s - 1)) : abs(x) << BigInt(-s), carrier);
      return real.roundShift(x, s);
    },
    divRound(n: bigint, d: bigint) {
      seen('DIVR', 2n * abs(n) + d, exactRoot);
      return real.divRound(n, d);
    },
    floorDiv(n: bigint, d: bigint) {
      seen('FDIV', abs(n), carrier);
      return real.floorDiv(n, d);
    },
    isqrt(n: bigint) {
      seen('ISQRT', n, exactRoot);
      return real.isqrt(n);
    },
  };
});

vi.mock('../../libs/step/src/net/tensor.js', async (original) => {
  const real = await original<typeof import('../../libs/step/src/net/tensor.js')>();
  const watched = (what: string, sums: bigint[]): bigint[] => {
    for (const x of sums) seen(what, x < 0n ? -x : x, 1n << 53n);
    return sums;
  };
  return {
    ...real,
    product: (...of: Parameters<typeof real.product>) => watched('product', real.product(...of)),
    columnSums: (...of: Parameters<typeof real.columnSums>) => watched('sum', real.columnSums(...of)),
  };
});

/** Tables are made of larger numbers, outside the step. */
vi.mock('../../libs/step/src/net/ops/activation-table.js', async (original) => {
  const real = await original<typeof import('../../libs/step/src/net/ops/activation-table.js')>();
  return {
    ...real,
    activationTable(...of: Parameters<typeof real.activationTable>) {
      const { isOn } = watch;
      watch.isOn = false;
      try {
        return real.activationTable(...of);
      } finally {
        watch.isOn = isOn;
      }
    },
  };
});

vi.mock('../../libs/step/src/net/bounds.js', async (original) => {
  const real = await original<typeof import('../../libs/step/src/net/bounds.js')>();
  return {
    ...real,
    checkNetBounds(...of: Parameters<typeof real.checkNetBounds>) {
      if (watch.hasRules) real.checkNetBounds(...of);
    },
  };
});

/** A generator's first numbers are alike for seeds that are near each other. */
const spread = (i: number): number => Math.imul(i, 0x9e37_79b1) >>> 0;

it('the nets that attack have every op, loss and optimizer', () => {
  const nets = Array.from({ length: 200 }, (_, i) => plainNet(seeded(spread(i))) as unknown as NetManifest);
  const kinds = (of: (net: NetManifest) => readonly unknown[]): string[] =>
    [...new Set(nets.flatMap(of).map(String))].toSorted();
  expect(kinds(({ layers }) => layers.map(({ op }) => op))).toEqual([...netOpNames].toSorted());
  expect(kinds(({ loss }) => [loss.kind])).toEqual(Object.keys(netLosses).toSorted());
  expect(kinds(({ optimizer }) => [optimizer.kind])).toEqual(Object.keys(netOptimizers).toSorted());
});

it('no manifest that the rules let through hands a primitive more than float64 carries', () => {
  const reached: bigint[] = [];
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (seed) => {
      const m = wildManifest(seed, 60);
      attack(m, seed);
      expect(watch.beyond, JSON.stringify(m)).toEqual([]);
      reached.push(watch.largest);
    }),
    { numRuns: 60 },
  );
  // The attack comes near the limit, or it would tell nothing of the rules.
  expect(reached.filter((share) => share > 1n << 51n).length).toBeGreaterThan(10);
}, 240_000);

it('finds numbers beyond it as soon as the rules are off', () => {
  watch.hasRules = false;
  try {
    const found = Array.from({ length: 30 }, (_, i) => {
      const seed = spread(i);
      attack(wildManifest(seed, 60), seed);
      return watch.beyond.length > 0;
    });
    expect(found.filter(Boolean).length).toBeGreaterThan(15);
  } finally {
    watch.hasRules = true;
  }
}, 240_000);

interface End {
  readonly rule: string;
  within: Json;
  beyond: Json;
  /** Steps at which the rule is nearest to its end. */
  readonly steps: readonly number[];
  /** Whether numbers can come as near as the rule assumes; else it is safe by what sums of shares cannot reach. */
  readonly isTight: boolean;
}

const slow = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 1]] } };
const netOf1 = (input: readonly number[], layers: readonly Json[], more: Json = {}): Json => ({
  ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 1, steps: 8, a: 8, g: 10, wint: 3, optimizer: slow },
  ...{ input: { shape: input, dtype: 'int16', frac: 0 }, labelShape: [], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
  ...{ layers: [...layers, { op: 'dense', out: 2, a: 10 }], ...more },
});
const pooled = (rows: number): Json =>
  netOf1(
    [rows, 64, 1],
    [
      ...[
        { op: 'conv2d', k: [1, 1], out: 1, a: 0 },
        { op: 'avgpool', k: [rows, 64], a: 24 },
      ],
      { op: 'flatten' },
    ],
  );
const attended = (places: number): Json =>
  netOf1(
    [places, 1],
    [
      { id: 'x', op: 'dense', out: 1 },
      { op: 'attention', in: ['x', 'x', 'x'], heads: 1, causal: false },
      { op: 'meanpool' },
    ],
  );
const scheduled = (length: number): Json =>
  netOf1([2], [], {
    optimizer: {
      ...slow,
      u: 0,
      c1: 4,
      lr: {
        frac: 48,
        points: [
          [0, 0],
          [length, 2 ** 49 - 1],
        ],
      },
    },
  });

it.each<[string, End]>([
  ['AVGPOOL', { rule: 'AVGPOOL', within: pooled(63), beyond: pooled(64), steps: [0], isTight: true }],
  ['SCHEDULE', { rule: 'SCHEDULE', within: scheduled(4), beyond: scheduled(5), steps: [2, 3], isTight: true }],
  ['ATTENTION', { rule: 'ATTENTION', within: attended(511), beyond: attended(512), steps: [0], isTight: false }],
])(
  'at the end of the rule %s numbers stay within what float64 carries',
  (_, { rule, within, beyond, steps, isTight }) => {
    expect(() => parseNetManifest(beyond)).toThrow(`STEP_RANGE_${rule}`);
    const m = parseNetManifest(within);
    const next = seeded(1);
    Object.assign(watch, { isOn: true, largest: 0n, beyond: [] });
    try {
      run(m, () => 1n, next, steps);
    } finally {
      watch.isOn = false;
    }
    expect(watch.beyond).toEqual([]);
    expect(watch.largest > 1n << (isTight ? 51n : 40n)).toBe(true);
  },
);

it('at steps and sizes beyond those ends numbers leave it', () => {
  watch.hasRules = false;
  try {
    for (const [json, steps] of [
      [pooled(66), [0]],
      [scheduled(64), [63]],
    ] as const) {
      const m = parseNetManifest(json);
      Object.assign(watch, { isOn: true, largest: 0n, beyond: [] });
      run(m, () => 1n, seeded(1), steps);
      watch.isOn = false;
      expect(watch.beyond.length).toBeGreaterThan(0);
    }
  } finally {
    Object.assign(watch, { isOn: false, hasRules: true });
  }
});

/** A net that every proposal of other members changed, as far as it was let through. */
function wildManifest(seed: number, proposals: number): NetManifest {
  const next = seeded(seed);
  let json: Json = plainNet(next);
  while (parsed(json) === undefined) json = plainNet(next);
  for (let i = 0; i < proposals; i++) {
    const changed = proposal(json, next);
    if (parsed(changed) !== undefined) json = changed;
  }
  return parsed(json)!;
}

/** Undefined where it is refused, as a manifest may be; nothing else may end the parser. */
function parsed(json: Json): NetManifest | undefined {
  try {
    return parseNetManifest(json);
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}

/** Three steps from every pattern of signs, at the ends of every range. */
function attack(m: NetManifest, seed: number): void {
  const next = seeded(seed + 1);
  Object.assign(watch, { isOn: true, largest: 0n, beyond: [] });
  try {
    for (const sign of [() => 1n, () => -1n, () => (next() < 0.5 ? 1n : -1n), () => (next() < 0.5 ? 1n : -1n)]) {
      run(m, sign, next);
    }
  } finally {
    watch.isOn = false;
  }
}

function run(m: NetManifest, sign: () => bigint, next: () => number, steps: readonly number[] = [0, 1, 2]): void {
  const { parameters, input, labels, output } = netOf(m);
  const extremes = parameters.map((one) => tensor(one.name, one.dims, () => sign() * guardOf(one)));
  const frozen = frozenOf(m, extremes);
  let state: Weights = startState(m, extremes).map((one) => extremeState(m, one, sign));
  const size = (shape: readonly number[]): number => shape.reduce((product, side) => product * side, m.batch);
  const feature = (): number => {
    if (input.element === 'token') return Math.floor(next() * (labels.below ?? 2));
    const top = Number(input.max) - (input.element === 'uint8' ? 0 : 1);
    return sign() > 0n ? top : input.element === 'uint8' ? 0 : -Number(input.max);
  };
  const label = (): number => {
    if (labels.below !== undefined) return Math.floor(next() * labels.below);
    return sign() > 0n ? 2 ** 31 - 1 : -(2 ** 31);
  };
  expect(output.hasError).toBe(true);
  for (const step of steps) {
    const examples = {
      count: m.batch,
      features: Int32Array.from({ length: size(input.shape) }, feature),
      labels: Int32Array.from({ length: size(labels.shape) }, label),
    };
    try {
      state = netStepReference(m, state, frozen, examples, step).state;
    } catch (error) {
      if (!(error instanceof GuardViolation)) throw error;
      return;
    }
  }
}

/** A tensor of the optimizer at the end of what it can reach; parameters as they are. */
function extremeState(m: NetManifest, one: Weights[number], sign: () => bigint): Weights[number] {
  const { optimizer, parameters } = netOf(m);
  const parameter = parameters.find(({ name }) => one.name.endsWith(`.${name}`));
  const kind = one.name.split('.')[0]!;
  if (parameter === undefined || !optimizer.kind.states(optimizer.members).includes(kind)) return one;
  const top = stateTop(optimizer.members as Json, kind, parameter);
  return tensor(one.name, one.dims, () => (kind !== 'm2' ? sign() * top : sign() > 0n ? top : 0n));
}

function stateTop(members: Json, kind: string, { gradientMax }: NetParameter): bigint {
  const { hbits = 0, c1, c2 = 0, q = 0 } = members as Readonly<Record<string, number>>;
  const top = (1n << BigInt(Math.max(0, hbits - 1))) - 1n;
  if (kind === 'V') return (gradientMax << BigInt(q)) + (1n << BigInt(q)) / 2n;
  if (kind === 'm2') return (top * top) << BigInt(c2);
  if (c1 !== undefined) return top << BigInt(c1);
  const [b, bits] = members.momentum as readonly [number, number];
  return ((1n << BigInt(hbits - 1)) << BigInt(bits)) / BigInt(b);
}

function tensor(name: string, dims: readonly number[], value: () => bigint): Weights[number] {
  const length = dims.reduce((product, side) => product * side, 1);
  return { name, dims, values: BigInt64Array.from({ length }, value) };
}

/** Largest magnitude that the guard lets a parameter have. */
function guardOf({ fraction, wint }: NetParameter): bigint {
  return (1n << BigInt(fraction + wint)) - 1n;
}
