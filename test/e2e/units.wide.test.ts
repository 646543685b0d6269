/**
 * A job without a TEE whose proofs cover several segments each: sealed under `unit64` with one commitment to the whole set,
 * proved in segments of eight steps, verified by the contract, paid, and its bundle checked offline.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { readSealedDataset, type DatasetManifest } from '#attestation/records';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  openChain,
  orderJob,
  ownTerms,
  sealFiles,
  type CheckedResult,
  type Profile,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { writeWhole } from '#libs/client/files';
import type { ProofUnit } from '#libs/proof';
import { blockOfStep, initialWeights, sliceExamples, stateDigest, stepReference } from '#libs/step';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { loadExamples } from '../../apps/prover-worker/src/proving/files.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-units-'));
/** Two units; the second ends the job in its third segment. */
const [steps, superblock, batch, records] = [88, 8, 4, 200];

let system: EmbeddedSystem;
let profile: Profile;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    enclave: false,
    provers: [{ threads: 2, memoryMiB: 3072 }],
  });
  profile = loadProfile(system.profileFile);
}, 600_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a job whose proofs cover several segments', () => {
  const manifest = smallManifest({ steps, superblock, batch });
  let files: ReturnType<typeof writeSmallFiles>;
  let sealed: DatasetManifest;
  let unit: ProofUnit | undefined;
  let result: CheckedResult;
  let jobId: string;

  beforeAll(async () => {
    const api = openApi(profile);
    const file = writeManifest(join(folder, 'manifest.json'), manifest);
    files = writeSmallFiles(join(folder, 'idx'), records);
    const sealing = { manifest: file, ...files, out: join(folder, 'data'), provable: true, proofProfile: 'unit64' };
    await sealFiles({ ...sealing, key: join(profile.broker.keysFolder, 'data.json') });
    sealed = readSealedDataset(readFileSync(join(sealing.out, 'dataset.json'))) as DatasetManifest;
    const request = { manifest: file, dataset: sealing.out, provider: system.prover };
    const order = { ...request, rewardWei: 10n ** 18n, assurance: 'zk' } as const;
    ({ jobId } = await orderJob(order, profile, api, { onProofs: (told) => (unit = told) }));
    await followJob(jobId, api, () => undefined, ['delivered', 'settled']);
    result = await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
  }, 1_500_000);

  it('has one commitment to its data', () => {
    expect(sealed.proving).toMatchObject({ profile: 'unit64' });
    expect(sealed.proving!.commitments).toHaveLength(1);
    expect(sealed.records).toBe(Math.floor(records / (superblock * batch)) * superblock * batch);
  });

  it('told before it was paid for what its proofs would take', () => {
    expect(unit).toMatchObject({ steps: 64, profile: 'unit64', proofs: 2, transactions: 2 });
  });

  it('has the weights of the reference', async () => {
    const examples = await loadExamples(manifest, files);
    const used = sliceExamples(manifest, examples, 0, sealed.records);
    let weights = initialWeights(manifest);
    for (let step = 0; step < steps; step++) {
      const block = sliceExamples(manifest, used, blockOfStep(manifest, step, sealed.records) * batch, batch);
      weights = stepReference(manifest, weights, block, step).weights;
    }
    expect(result.stateDigest).toBe(toHex(stateDigest(manifest, weights)));
  });

  it('is paid when the contract has seen both proofs, for the gas that was expected', async () => {
    expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
    const chain = openChain(profile);
    try {
      const terms = ownTerms(profile, jobId);
      expect((await chain.escrow.job(terms)).proved).toBe(2);
      const gas = await chain.escrow.duties.gasOfProofs(terms);
      expect(Math.abs(gas / unit!.gas! - 1)).toBeLessThan(0.1);
    } finally {
      chain.close();
    }
  });

  it('has a bundle that verifies offline, every segment by its proof', async () => {
    const { policy } = readPolicy(profile.policy);
    const file = join(folder, 'job.vtb');
    writeWhole(file, await fetchBundle(jobId, profile, policy, openApi(profile)));
    const { tier, checks } = await verifyBundleFile(file, { policy: profile.policy });
    expect(tier).toBe('affirming');
    expect(checks.find(({ code }) => code === 'BUNDLE_PROOFS')?.status).toBe('met');
  });
});
