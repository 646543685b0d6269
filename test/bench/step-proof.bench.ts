/**
 * Step proofs: samples proved per second, CPU time, proof bytes, time to verify, soundness, memory; the CPU time of a
 * proof against the engine's own execution of the same steps; growth when steps, batch or width double; the commitment
 * an enclave makes; how many of 10,000 records weights class right. Two threads; untimed proofs until the kernels are compiled for good, then three of which the median
 * counts. Each result names the shape, its segment length and its profile.
 */
import { keccak, utf8 } from '#attestation/base';
import { choosePlan, parseProofBundle, planOf, segmentStatement, verifyProofBundle } from '#libs/proof';
import { initialWeights, profileManifest, type Examples, type Manifest } from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { createCommitter } from '#libs/zk/commit';
import { profileNamed, startSeed, verifyStepProof, type Plan } from '#libs/zk/verifier';
import { proveRange, type ProvedRange } from '../../apps/prover-worker/src/proving/prove-range.js';
import { Engine } from '../../enclave/src/engine/engine.js';
import { benchPeers } from './peers/peers.js';
import { madeUp } from './made-up.js';
import { benchCount } from './record-count.js';
import type { BenchResult } from './result.js';
import { median, since, start, summary } from './timing.js';

interface Shape {
  readonly dims: readonly number[];
  readonly batch: number;
  readonly e: number;
  readonly T: number;
  readonly profile: string;
}

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const runs = 3;
const threads = 2;
const warmUpSeconds = 4;
const mnist = { dims: [784, 64, 10], batch: 64, e: 8 };
const shapes: readonly Shape[] = [
  { ...mnist, T: 1, profile: 'chain1' },
  { ...mnist, T: 16, profile: 'chain16' },
  { ...mnist, T: 16, profile: 'fast16' },
  { ...mnist, T: 64, profile: 'fast64' },
  { ...mnist, T: 64, profile: 'fast64-blake3' },
  { dims: [784, 256, 128, 64, 10], batch: 512, e: 11, T: 1, profile: 'auto' },
  { dims: [784, 256, 128, 64, 10], batch: 512, e: 11, T: 4, profile: 'auto' },
  { dims: [784, 1024, 1024, 10], batch: 64, e: 8, T: 1, profile: 'auto' },
  { dims: [784, 2048, 1024, 10], batch: 64, e: 8, T: 1, profile: 'auto' },
];

/** One profile, so that nothing but the doubled quantity changes. */
const grown: Shape = { ...mnist, T: 16, profile: 'fast64' };
const doublings: readonly (readonly [what: string, shape: Shape])[] = [
  ['twice the steps', { ...grown, T: 32 }],
  ['twice the batch', { ...grown, batch: 128, e: 9 }],
  ['twice the hidden units', { ...grown, dims: [784, 128, 10] }],
];

/** @param options.peers also snarkjs and UltraHonk on the same step in the same run */
export async function run({ peers }: { readonly peers: boolean }): Promise<BenchResult[]> {
  const results: BenchResult[] = peers ? await benchPeers() : [];
  for (const shape of shapes) results.push(...(await benchShape(shape)));
  return [...results, ...(await benchGrowth()), await benchVerifyGrowth(), benchCommitment(), ...(await benchCount())];
}

/** What proving one shape took, run by run. */
interface Proved {
  readonly plan: Plan;
  readonly manifest: Manifest;
  readonly examples: Examples;
  readonly wall: readonly number[];
  readonly cpu: readonly number[];
  readonly peakBytes: number;
  readonly range: ProvedRange;
}

async function proveShape({ T, profile, ...parameters }: Shape): Promise<Proved> {
  const manifest = profileManifest('fx1', { ...parameters, steps: T, seed, superblock: T });
  const plan = choosePlan(manifest, profile, 'joint');
  const examples = madeUp(manifest, manifest.superblock * manifest.batch);
  const engine = await createPool({ threads, rowLogMax: plan.profile.m, memoryBytesMax: 4 * 2 ** 30 });
  const backend = new KernelBackend(engine);
  const weights = initialWeights(manifest);
  const wall: number[] = [];
  const cpu: number[] = [];
  let range: ProvedRange | undefined;
  const prove = (index: number): { readonly wall: number; readonly cpu: number } => {
    let began = start();
    range = proveRange(
      backend,
      {
        ...{ plan, examples, from: 0, steps: T, weights, jobId: new Uint8Array(32) },
        ...{ weightSeed: startSeed(manifest), secret: keccak(utf8(`bench secret ${index}`)) },
        dataSeed: (block) => keccak(utf8(`bench data ${block}`)),
      },
      (phase) => {
        if (phase === 'execute') began = start();
      },
    );
    return since(began);
  };
  for (let i = 0, warm = 0; warm < warmUpSeconds; i--) warm += prove(i).wall;
  for (let i = 1; i <= runs; i++) {
    const took = prove(i);
    wall.push(took.wall);
    cpu.push(took.cpu);
  }
  await engine.close();
  return { plan, manifest, examples, wall, cpu, peakBytes: engine.memory.peakBytes, range: range! };
}

async function benchShape(shape: Shape): Promise<BenchResult[]> {
  const { plan, manifest, examples, wall, cpu, peakBytes, range } = await proveShape(shape);
  const own = await engineCpu(manifest, examples);
  const samples = manifest.batch * manifest.superblock;
  const name = (what: string): string => `${what}, ${labelOf(shape, plan)}`;
  const exact = (what: string, unit: string, value: number): BenchResult => summary(name(what), unit, [value]);
  return [
    summary(
      name('samples proved'),
      'samples/s',
      wall.map((seconds) => samples / seconds),
    ),
    summary(name('wall time of a segment'), 's', wall),
    summary(name('CPU time of a segment'), 's', cpu),
    summary(
      name("CPU time against the engine's own"),
      'x',
      cpu.map((seconds) => seconds / own),
    ),
    exact('proof', 'bytes', range.bundle.length),
    summary(name('verify, warm'), 'ms', verifyTimes(range)),
    summary(name('verify and recognise the start of the job, warm'), 'ms', startTimes(range)),
    exact('weakest round', 'bits', plan.soundness.minBits),
    exact('whole proof', 'bits', plan.soundness.sumBits),
    exact('linear memory', 'MiB', peakBytes / 2 ** 20),
  ];
}

/** CPU time of the doubled shape over twice that of the base: 1 is linear. */
async function benchGrowth(): Promise<BenchResult[]> {
  const base = median((await proveShape(grown)).cpu);
  const results: BenchResult[] = [];
  for (const [what, shape] of doublings) {
    const { cpu, plan } = await proveShape(shape);
    const name = `growth over linear with ${what}, ${labelOf(shape, plan)}`;
    results.push(
      summary(
        name,
        'x',
        cpu.map((seconds) => seconds / (2 * base)),
      ),
    );
  }
  return results;
}

/** CPU time to verify 64 steps over that to verify one, both of one shape and profile, alternating. */
async function benchVerifyGrowth(): Promise<BenchResult> {
  const shortAndLong: {
    readonly proof: ReturnType<typeof parseProofBundle>[number];
    readonly stated: ReturnType<typeof segmentStatement>;
  }[] = [];
  for (const T of [1, 64]) {
    const { range } = await proveShape({ ...mnist, T, profile: 'fast64' });
    const [proof] = parseProofBundle(range.bundle);
    shortAndLong.push({ proof: proof!, stated: segmentStatement(range.statement, planOf(range.statement), 0) });
  }
  const times = Array.from({ length: 40 }, () =>
    shortAndLong.map(({ proof, stated }) => {
      const began = start();
      verifyStepProof(proof, stated);
      return since(began).cpu;
    }),
  ).slice(20);
  const one = median(times.map(([time]) => time!));
  return summary(
    'growth of verifying from T 1 to 64, fast64',
    'x',
    times.map(([, time]) => time! / one),
  );
}

/** Seconds of CPU time that the enclave's engine needs for the steps of the manifest. */
async function engineCpu(manifest: Manifest, examples: Examples): Promise<number> {
  const engine = await Engine.open(manifest, { threads: 1 });
  const dataset = engine.load(examples);
  const weights = initialWeights(manifest);
  const train = () => engine.train({ dataset, weights, fromStep: 0, stepCount: manifest.steps });
  await train();
  const times: number[] = [];
  for (let round = 0; round < runs; round++) {
    const began = start();
    const repeats = Math.max(1, 32 / manifest.steps);
    for (let i = 0; i < repeats; i++) await train();
    times.push(since(began).cpu / repeats);
  }
  await engine.close();
  return median(times);
}

/** The commitment an enclave makes at a border, at rate 1/8, on one thread. */
function benchCommitment(): BenchResult {
  const manifest = profileManifest('fx1', { ...mnist, steps: 1, seed });
  const { shape } = choosePlan(manifest, 'chain1', 'joint');
  const profile = { ...profileNamed('chain1'), logBlowup: 3 };
  const committer = createCommitter({ shape, profile });
  const weights = initialWeights(manifest);
  const times = Array.from({ length: 3 * runs }, (_, i) => {
    const began = start();
    committer.weights(weights, keccak(utf8(`bench ${i}`)));
    return since(began).cpu * 1000;
  });
  return summary('CPU time of a commitment of 50,890 weights, rate 1/8', 'ms', times.slice(runs));
}

/** The proof alone, as of any segment. */
function verifyTimes({ bundle, statement }: ProvedRange): number[] {
  const [proof] = parseProofBundle(bundle);
  const stated = segmentStatement(statement, planOf(statement), 0);
  return timesOf(20, () => verifyStepProof(proof!, stated));
}

/** Also that the weights before are those of the seed: once in a job, at its first segment. */
function startTimes({ bundle, statement }: ProvedRange): number[] {
  return timesOf(3, () => verifyProofBundle(bundle, statement));
}

/** Milliseconds of as many runs, after as many untimed ones. */
function timesOf(count: number, work: () => unknown): number[] {
  return Array.from({ length: 2 * count }, () => {
    const began = start();
    work();
    return since(began).wall * 1000;
  }).slice(count);
}

function labelOf({ dims, batch, T }: Shape, { profile }: Plan): string {
  return `${dims.join('-')} b${batch}, T ${T}, ${profile.name}`;
}
