import { describe, expect, it } from 'vitest';
import { canonicalManifest } from '#libs/step';
import { datasetManifestJson, utf8, type JobSpec, type Terms } from '#attestation';
import {
  attested,
  chainId,
  contract,
  jobRequest,
  registry,
  releaseRequest,
  sealBytes,
  sealGrant,
  tinyAt,
  tinyBroker,
  tinyDataset,
  tinyJob,
  type TinyDataset,
} from '#test/tiny-job';

const job = await tinyJob();
const manifest = job.manifest;
const dataset = job.dataset.manifest;
const parties = await tinyBroker(job);
const other = await tinyDataset(manifest, { salt: 2 });

const leaseOver = (nonce: Uint8Array) => ({ nonce, grantedAt: tinyAt, notAfter: tinyAt + 60 });

/** Offers a job whose data key was lawfully sealed to the session, whatever else is wrong with it. */
async function offer(change: {
  spec?: Partial<JobSpec>;
  terms?: Partial<Terms>;
  dataset?: TinyDataset['manifest'];
  sealedTo?: 'dataset' | 'another';
}) {
  const offered = await tinyJob({ spec: change.spec ?? {}, terms: change.terms ?? {} });
  const { session, parsed } = await attested(offered, await tinyBroker(job));
  const id = change.sealedTo === 'another' ? new Uint8Array(32) : offered.spec.dataset.id;
  const grant = { datasetId: id, key: job.dataset.key, broker: parties.broker.account, lease: leaseOver(parsed.nonce) };
  const sealedKey = await sealGrant(grant, offered.jobId, parsed.binding);
  const request = jobRequest(offered, sealedKey);
  const given = change.dataset ?? dataset;
  return session.request('job', { ...request, dataset: utf8(JSON.stringify(datasetManifestJson(given))) });
}

describe('a job', () => {
  it('whose parts belong together is taken', async () => {
    await expect(offer({})).resolves.toHaveLength(0);
  });

  const zero = new Uint8Array(32);
  const withDataset = (change: Partial<JobSpec['dataset']>) => ({
    spec: { dataset: { ...job.spec.dataset, ...change } },
  });
  it.each([
    ['data set', 'id', { dataset: { ...dataset, id: zero } }],
    ['data set', 'root', { dataset: { ...dataset, root: zero } }],
    ['another data set', 'id', { dataset: other.manifest }],
    ['spec', 'root', withDataset({ root: zero })],
    ['spec', 'records', withDataset({ records: 28 })],
    ['spec', 'shards', withDataset({ shards: 1 })],
    ['data set', 'classes', { dataset: { ...dataset, classes: 4 } }],
    ['data set', 'batch', { dataset: { ...dataset, batch: 2 } }],
    ['data set', 'superblock', { dataset: { ...dataset, superblock: 2 } }],
    ['program', 'features', { spec: { manifest: program({ dims: [7, 5, 3] }) } }],
    ['program', 'classes', { spec: { manifest: program({ dims: [6, 5, 2] }) } }],
    ['program', 'batch', { spec: { manifest: program({ batch: 8 }) } }],
  ] as const)('whose %s has another %s is refused', async (_, __, change) => {
    await expect(offer(change)).rejects.toMatchObject({ code: 'JOB_DATASET' });
  });

  it.each([
    ['another job', { terms: { specDigest: zero } }],
    ['another policy', { terms: { policy: zero } }],
    ['more segments', { terms: { segments: 4 } }],
    ['other start weights', { terms: { initialWeights: zero } }],
    ['another chain', { spec: { settlement: { chainId: chainId + 1, contract } } }],
    ['another provider', { terms: { provider: new Uint8Array(20).fill(1) } }],
  ] as const)('whose escrow names %s is refused', async (_, change) => {
    await expect(offer(change)).rejects.toMatchObject({ code: 'JOB_ESCROW' });
  });

  it('whose escrow leaves the provider open is taken', async () => {
    await expect(offer({ terms: { provider: new Uint8Array(20) } })).resolves.toHaveLength(0);
  });

  it.each([
    ['with the key of another data set', 'DATA_KEY_DATASET', { sealedTo: 'another' }],
    ['that breaks a range rule', 'STEP_RANGE_R1', { spec: { manifest: program({ e: [40, 40] }) } }],
    ['of an unknown program', 'MANIFEST_VERSION', { spec: { manifest: program({ fxt: 2 }) } }],
    ['with an unknown member in its program', 'MANIFEST_UNKNOWN_FIELD', { spec: { manifest: program({ x: 1 }) } }],
    ['whose program is not JSON', 'MANIFEST_JSON', { spec: { manifest: utf8('{') } }],
    ['whose program is not canonical', 'MANIFEST_CANONICAL', { spec: { manifest: spaced() } }],
    ['with more weights than a checkpoint holds', 'JOB_SIZE', { spec: { manifest: program(wide) } }],
    ['with more segments than a run may have', 'JOB_SIZE', { spec: { manifest: program({ steps: 40_009 }) } }],
  ] as const)('%s is refused: %s', async (_, code, change) => {
    await expect(offer(change as Parameters<typeof offer>[0])).rejects.toMatchObject({ code });
  });
});

const wide = { dims: [6, 1300, 1300, 3], a: [8, 6, 6, 6], g: [10, 10, 10], e: [9, 9, 9] };

function program(change: Record<string, unknown>): Uint8Array {
  const json = JSON.parse(new TextDecoder().decode(canonicalManifest(manifest))) as Record<string, unknown>;
  return utf8(JSON.stringify(Object.fromEntries(Object.entries({ ...json, ...change }).sort())));
}

function spaced(): Uint8Array {
  return utf8(`${new TextDecoder().decode(canonicalManifest(manifest))} `);
}

describe('key release', () => {
  it('opens in the session and for the job that it was sealed to, and nowhere else', async () => {
    const one = await attested(job, parties);
    const two = await attested(job, parties);
    const { sealedKey } = await parties.broker.release(releaseRequest(job, one.evidence), tinyAt);
    const failed = { code: 'UNSEAL_FAILED' };
    await expect(two.session.request('job', jobRequest(job, sealedKey))).rejects.toMatchObject(failed);
    const otherJob = await tinyJob({ spec: { salt: new Uint8Array(32) } });
    await expect(one.session.request('job', jobRequest(otherJob, sealedKey))).rejects.toMatchObject(failed);
    for (let cut = 0; cut < sealedKey.length; cut++) {
      const request = jobRequest(job, sealedKey.subarray(0, cut));
      await expect(one.session.request('job', request)).rejects.toMatchObject(failed);
    }
    for (let at = 0; at < sealedKey.length; at++) {
      const request = jobRequest(
        job,
        sealedKey.map((byte, i) => (i === at ? byte ^ 2 : byte)),
      );
      await expect(one.session.request('job', request)).rejects.toMatchObject(failed);
    }
    await expect(one.session.request('job', jobRequest(job, sealedKey))).resolves.toHaveLength(0);
  });

  it('of something else than a data key is refused', async () => {
    const { session, parsed } = await attested(job, parties);
    const sealedKey = await sealBytes(new Uint8Array(63), job.jobId, parsed.binding);
    await expect(session.request('job', jobRequest(job, sealedKey))).rejects.toMatchObject({ code: 'DATA_KEY_LENGTH' });
  });

  it('is bound to provider, chain and registry of the session', async () => {
    const { session, parsed } = await attested(job, parties);
    for (const change of [
      { provider: new Uint8Array(20) },
      { chainId: chainId + 1 },
      { registry: registry.map((byte) => byte ^ 1) },
      { receiptKey: new Uint8Array(32) },
    ]) {
      const binding = { ...parsed.binding, ...change };
      const { account } = parties.broker;
      const grant = { datasetId: dataset.id, key: job.dataset.key, broker: account, lease: leaseOver(parsed.nonce) };
      const sealedKey = await sealGrant(grant, job.jobId, binding);
      await expect(session.request('job', jobRequest(job, sealedKey))).rejects.toMatchObject({ code: 'UNSEAL_FAILED' });
    }
  });
});
