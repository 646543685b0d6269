/**
 * Step proofs: samples proved per second, CPU time, proof bytes, time to verify, soundness, memory. Two networks of
 * 784-64-10 by default; VERITRAIN_BENCH_ALL=1 runs every shape. One untimed proof before, then three of which the
 * median counts; two threads. Each result names the shape, its segment length and its profile.
 */
import { keccak, utf8 } from '#attestation';
import { initialWeights, profileManifest, shuffledIndices, type Examples, type Manifest } from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { verifyProofBundle } from '#libs/proof';
import { choosePlan } from '../../apps/prover-worker/src/proving/plan-choice.js';
import { proveRange, type ProvedRange } from '../../apps/prover-worker/src/proving/prove-range.js';

export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly n: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

interface Shape {
  readonly dims: readonly number[];
  readonly batch: number;
  readonly e: number;
  readonly T: number;
  readonly profile: string;
}

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const runs = 3;
const mnist = { dims: [784, 64, 10], batch: 64, e: 8 };
const short: readonly Shape[] = [
  { ...mnist, T: 1, profile: 'chain1' },
  { ...mnist, T: 16, profile: 'fast16' },
];
const all: readonly Shape[] = [
  ...short,
  { ...mnist, T: 4, profile: 'chain1' },
  { ...mnist, T: 16, profile: 'chain16' },
  { ...mnist, T: 64, profile: 'fast64' },
  { dims: [784, 256, 128, 64, 10], batch: 512, e: 11, T: 1, profile: 'auto' },
  { dims: [784, 1024, 1024, 10], batch: 64, e: 8, T: 1, profile: 'auto' },
];

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const shape of process.env.VERITRAIN_BENCH_ALL === '1' ? all : short) results.push(...(await benchShape(shape)));
  return results;
}

async function benchShape({ T, profile, ...parameters }: Shape): Promise<BenchResult[]> {
  const m = profileManifest('fx1', { ...parameters, steps: T, seed, superblock: T });
  const plan = choosePlan(m, profile, 'joint');
  const examples = madeUp(m);
  const engine = await createPool({ threads: 2, rowLogMax: plan.profile.m });
  const backend = new KernelBackend(engine);
  const weights = initialWeights(m);
  const wall: number[] = [];
  const cpu: number[] = [];
  let proved: ProvedRange | undefined;
  for (let i = 0; i <= runs; i++) {
    let began = { at: 0, cpu: process.cpuUsage() };
    const mark = backend.mark();
    proved = proveRange(
      backend,
      {
        ...{ plan, examples, from: 0, steps: T, weights, jobId: new Uint8Array(32) },
        ...{ weightSeed: keccak(utf8(`bench ${i}`)), secret: keccak(utf8(`bench secret ${i}`)) },
        dataSeed: (index) => keccak(utf8(`bench data ${index}`)),
      },
      (phase) => {
        if (phase === 'execute') began = { at: performance.now(), cpu: process.cpuUsage() };
      },
    );
    backend.release(mark);
    if (i === 0) continue;
    wall.push((performance.now() - began.at) / 1000);
    const used = process.cpuUsage(began.cpu);
    cpu.push((used.user + used.system) / 1e6);
  }
  await engine.close();
  const { bundle, statement } = proved!;
  const verify = verifyTimes(bundle, statement);
  const samples = m.batch * T;
  const name = (what: string): string => `${what}, ${m.dims.join('-')} b${m.batch}, T ${T}, ${plan.profile.name}`;
  const exact = (what: string, unit: string, value: number): BenchResult => summary(name(what), unit, [value]);
  return [
    summary(
      name('samples proved'),
      'samples/s',
      wall.map((seconds) => samples / seconds),
    ),
    summary(name('wall time of a segment'), 's', wall),
    summary(name('CPU time of a segment'), 's', cpu),
    exact('proof', 'bytes', bundle.length),
    summary(name('verify, warm'), 'ms', verify),
    exact('weakest round', 'bits', plan.soundness.minBits),
    exact('whole proof', 'bits', plan.soundness.sumBits),
    exact('linear memory', 'MiB', engine.memory.peakBytes / 2 ** 20),
  ];
}

function verifyTimes(bundle: Uint8Array, statement: ProvedRange['statement']): number[] {
  const times: number[] = [];
  for (let i = 0; i < 30; i++) {
    const start = performance.now();
    verifyProofBundle(bundle, statement);
    if (i >= 20) times.push(performance.now() - start);
  }
  return times;
}

/** One superblock of records: what they say does not change the work. */
function madeUp(m: Manifest): Examples {
  const count = m.superblock * m.batch;
  const width = m.dims[0]!;
  const order = shuffledIndices(m.seed, count * width);
  return {
    count,
    features: Uint8Array.from(order, (index) => (index % 5 === 0 ? index & 255 : 0)),
    labels: Uint8Array.from({ length: count }, (_, i) => i % m.dims.at(-1)!),
  };
}

function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = [...values].sort((a, b) => a - b);
  return { name, unit, n: sorted.length, min: sorted[0]!, median: sorted[sorted.length >> 1]!, max: sorted.at(-1)! };
}
