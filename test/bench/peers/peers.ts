/**
 * The same step by other provers, in the same run, alternating with ours: snarkjs Groth16 on 64-32-10 and native UltraHonk
 * on 96-32-10, in CPU-seconds. Ours checks ranges of data and weights as well, which the peers' circuits take on trust, so
 * the ratios are at least those of like for like. A peer that cannot be had gives no figure and says why.
 */
import { CodedError, keccak, utf8 } from '#attestation/base';
import { choosePlan } from '#libs/proof';
import { initialWeights, profileManifest } from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { proveRange } from '../../../apps/prover-worker/src/proving/prove-range.js';
import type { BenchResult } from '../result.js';
import { nameOf, peerRuns, type PeerShape } from './shape.js';
import { openSnarkjs } from './snarkjs.js';
import { openUltraHonk } from './ultrahonk.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
/** W1 and W2 of the literature, W1 with the nearest batch that is a power of two. */
const w1: PeerShape = { inputs: 64, hidden: 32, outputs: 10, batch: 16 };
const w2: PeerShape = { inputs: 96, hidden: 32, outputs: 10, batch: 48 };
/** Ours for segments of this size; `chain1` has shorter proofs and takes about four times as much. */
const profile = 'small';
/** Proofs after which the kernels are compiled for good. */
const untimed = 4;

interface Peer {
  prove(): Promise<number>;
}

export async function benchPeers(): Promise<BenchResult[]> {
  return [
    ...(await compare('snarkjs Groth16', w1, openSnarkjs)),
    ...(await compare('UltraHonk native, evm with zk', w2, openUltraHonk)),
  ];
}

async function compare(
  name: string,
  shape: PeerShape,
  open: (shape: PeerShape) => Promise<Peer>,
): Promise<BenchResult[]> {
  process.stderr.write(`peer ${name}, ${nameOf(shape)} …\n`);
  let peer: Peer;
  try {
    peer = await open(shape);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    process.stderr.write(`peer ${name} skipped: ${error.message}\n`);
    return [];
  }
  const ours = await openOurs(shape);
  const times: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
  try {
    for (let i = 1; i <= untimed; i++) ours.prove(-i);
    for (let i = 1; i <= peerRuns; i++) {
      times.ours.push(ours.prove(i));
      times.theirs.push(await peer.prove());
    }
  } finally {
    await ours.close();
  }
  const title = (what: string): string => `${what}, one step, ${nameOf(shape)}`;
  const [a, b] = [
    summary(title(`ours, ${profile}, one thread`), 's CPU', times.ours),
    summary(title(name), 's CPU', times.theirs),
  ];
  return [a, b, summary(title(`${name} / ours`), 'times', [b.median / a.median])];
}

/** Our proof of one step of the same shape with squared loss, one thread. */
async function openOurs({ inputs, hidden, outputs, batch }: PeerShape) {
  const manifest = profileManifest('fx1', {
    ...{ dims: [inputs, hidden, outputs], batch, e: 8, steps: 1, seed, loss: 'mse' as const },
  });
  const plan = choosePlan(manifest, profile, 'joint');
  const engine = await createPool({ threads: 1, rowLogMax: plan.profile.m });
  const backend = new KernelBackend(engine);
  const examples = {
    count: batch,
    features: Uint8Array.from({ length: batch * inputs }, (_, i) => (i * 73) & 255),
    labels: Uint8Array.from({ length: batch }, (_, i) => i % outputs),
  };
  return {
    /** CPU seconds from the execution of the step to the proof's last byte. */
    prove: (i: number): number => {
      let began = process.cpuUsage();
      const mark = backend.mark();
      proveRange(
        backend,
        {
          ...{ plan, examples, from: 0, steps: 1, weights: initialWeights(manifest), jobId: new Uint8Array(32) },
          ...{ weightSeed: keccak(utf8(`peer ${i}`)), secret: keccak(utf8(`peer secret ${i}`)) },
          dataSeed: () => keccak(utf8('peer data')),
        },
        (phase) => {
          if (phase === 'execute') began = process.cpuUsage();
        },
      );
      backend.release(mark);
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1e6;
    },
    close: () => engine.close(),
  };
}

function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = [...values].sort((a, b) => a - b);
  return { name, unit, n: sorted.length, min: sorted[0]!, median: sorted[sorted.length >> 1]!, max: sorted.at(-1)! };
}
