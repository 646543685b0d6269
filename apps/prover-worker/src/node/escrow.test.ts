/** Which kept proofs go to the chain, and that one which cannot keeps no other back. No chain: what the contract says is made up. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Rejection, to0x } from '#attestation/base';
import { encodeJobSpec, encodeTerms, JobMode } from '#attestation/records';
import { duties, marketTerms } from '#test/escrow-market';
import { tinyJob } from '#test/tiny-job';
import { openEscrow } from './escrow.js';
import { openKeptJobs, type KeptJobs } from './kept-jobs.js';
import type { ProverSettings } from './settings.js';

const chain = vi.hoisted(() => ({
  proved: [] as number[],
  sample: [] as readonly number[] | null,
  view: {} as object,
}));
vi.mock('#libs/settlement', async (original) => ({
  ...(await original<object>()),
  connect: () => null,
  latestBlock: () => Promise.resolve({ number: 1, timestamp: 0 }),
  SettlementClient: class {
    job = () => Promise.resolve(chain.view);
    duties = {
      bordersOf: () => Promise.resolve([]),
      isProved: (_: unknown, index: number) => Promise.resolve(chain.proved.includes(index)),
      sampleOf: () => Promise.resolve(chain.sample),
      undischarged: () => Promise.resolve([segments - 1]),
      discharge: (_: unknown, index: number) => Promise.resolve(chain.proved.push(index)),
    };
  },
}));
vi.mock('../../../../libs/node/src/step-seal.js', () => ({
  sealOf(...[, , , index, { bundle }]: readonly [unknown, unknown, unknown, number, { readonly bundle: Uint8Array }]) {
    if (bundle[0] === index) return bundle;
    throw new Rejection('STEP_STATEMENT', { expected: 'a proof of the run', got: 'another', rule: 'test' });
  },
}));

const segments = 4;
const none = to0x(new Uint8Array(32));
const committed = {
  state: 'Committed',
  upTo: segments,
  since: 0,
  sampleDue: true,
  drawn: true,
  allDue: false,
  drawUntil: 1,
  delivery: none,
};
const settings = {
  ...{ chain: { deployment: { chainId: 1 }, rpcUrl: '' }, accountSecret: new Uint8Array(32).fill(1) },
} as unknown as ProverSettings;

let folder: string;
let kept: KeptJobs;
let jobId: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-escrow-'));
  kept = openKeptJobs(folder);
  const { spec, ...job } = await tinyJob();
  jobId = to0x(job.jobId);
  const terms = marketTerms({ mode: JobMode.sample, segments, samples: 2, windows: duties });
  kept.open(jobId, encodeJobSpec(spec), encodeTerms(terms));
  kept.keepDelivery(jobId, { borders: Array(segments + 1).fill(none) } as never);
  kept.closeDelivery(jobId, 'taken');
  Object.assign(chain, { proved: [], sample: [1, 3], view: committed });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A proof whose segment is `of` */
function keep(index: number, of = index): void {
  const claim = { nodeId: '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', jobId, index, fence: 1 };
  kept.keepProof({ claim, bundle: Uint8Array.of(of), document: '{}' });
  kept.markTold(jobId, index);
}

const collect = () => openEscrow(settings, kept).collect(kept.find(jobId)!);

it.each([
  { what: 'the contract would refuse', code: 'STEP_STATEMENT', spoil: () => keep(1, 2) },
  {
    ...{ what: 'is damaged', code: 'KEPT_JOB_DAMAGED' },
    spoil: () => writeFileSync(join(folder, jobId.slice(2), 'proof-1.claim'), '{'),
  },
])('brings what is left to the chain where a proof before it $what', async ({ code, spoil }) => {
  for (const index of [1, 3]) keep(index);
  spoil();
  await expect(collect()).rejects.toMatchObject({ code });
  expect(chain.proved).toEqual([3]);
});

it.each([
  { what: 'what was drawn', view: committed, proved: [1, 3] },
  { what: 'nothing before the draw', view: { ...committed, drawn: false }, sample: null, proved: [] },
  { what: 'all of what is due whole', view: { ...committed, allDue: true, sampleDue: false }, proved: [0, 1, 2, 3] },
])('brings of a sampled run $what to the chain, whatever it keeps', async ({ view, sample = [1, 3], proved }) => {
  Object.assign(chain, { view, sample });
  for (let index = 0; index < segments; index++) keep(index);
  await collect();
  expect(chain.proved).toEqual(proved);
});

it('brings of an attested run all that it keeps to the chain, for any segment may be challenged', async () => {
  const { spec } = kept.find(jobId)!;
  const terms = marketTerms({ mode: JobMode.tee | JobMode.sample, segments, samples: 2, windows: duties });
  kept.open(jobId, spec, encodeTerms(terms));
  for (const index of [0, 1]) keep(index);
  await collect();
  expect(chain.proved).toEqual([0, 1]);
});
