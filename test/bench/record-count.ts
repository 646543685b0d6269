/**
 * A statement that weights of 784-64-10 class at least so many of 10,000 records right: CPU time of its proofs where the
 * set was committed to before, as when it is sealed, and with its commitments; bytes, parts, time to verify.
 */
import { keccak, utf8 } from '#attestation/base';
import { accuracyParts, verifyAccuracyBundle } from '#libs/proof';
import { initialWeights, profileManifest } from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { proveParts } from '../../apps/prover-worker/src/proving/prove-parts.js';
import { madeUp } from './made-up.js';
import type { BenchResult } from './result.js';
import { since, start, summary } from './timing.js';

const records = 10_000;
const cpuSecondsMax = 10;
const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const runs = 3;

export async function benchCount(): Promise<BenchResult[]> {
  const manifest = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 64, seed, superblock: 64 });
  const plans = accuracyParts(manifest, 'auto', records);
  const engine = await createPool({ threads: 2, rowLogMax: plans[0]!.profile.m, memoryBytesMax: 4 * 2 ** 30 });
  const backend = new KernelBackend(engine);
  const examples = madeUp(manifest, records);
  const seedOf = (name: string): Uint8Array => keccak(utf8(`bench ${name}`));
  const request = {
    ...{ manifest, plans, weights: initialWeights(manifest), examples },
    ...{ weightsSeed: seedOf('weights'), dataSeed: seedOf('set') },
  };
  const [proving, whole, verifying]: [number[], number[], number[]] = [[], [], []];
  let bytes = 0;
  for (let run = 0; run <= runs; run++) {
    const first = start();
    let committed: ReturnType<typeof start> | undefined;
    const { bundle, document } = proveParts(backend, request, (phase) => {
      if (phase === 'execute') committed ??= start();
    });
    const [own, all] = [since(committed!).cpu, since(first).cpu];
    const began = start();
    verifyAccuracyBundle(bundle, document);
    if (run === 0) continue;
    proving.push(own);
    whole.push(all);
    verifying.push(since(began).cpu * 1000);
    bytes = bundle.length;
  }
  await engine.close();
  const label = `accuracy on ${records.toLocaleString('en')} records, 784-64-10, ${plans[0]!.profile.name}`;
  const cpu = summary(`CPU time, ${label}`, 's', proving);
  return [
    { ...cpu, atMost: cpuSecondsMax, holds: cpu.median <= cpuSecondsMax },
    summary(`CPU time with commitments, ${label}`, 's', whole),
    summary(`CPU time to verify, ${label}`, 'ms', verifying),
    summary(`proof in ${plans.length} parts, ${label}`, 'bytes', [bytes]),
    summary(`linear memory, ${label}`, 'MiB', [engine.memory.peakBytes / 2 ** 20]),
  ];
}
