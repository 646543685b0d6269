import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { utf8 } from '#attestation/base';
import { datasetManifestJson, JobMode, type JobSpec, type Terms } from '#attestation/records';
import { canonicalManifest } from '#libs/step';
import { chainId, contract, jobRequest, provider, tinyDataset, tinyJob, type TinyDataset } from '#test/tiny-job';
import { grantTo, present } from '#test/tiny-release';

const job = await tinyJob();
const manifest = job.manifest;
const dataset = job.dataset.manifest;
const other = await tinyDataset(manifest, { salt: 2 });

/** Offers a job whose data key was lawfully sealed to the session, whatever else is wrong with it. */
async function offer(change: {
  spec?: Partial<JobSpec>;
  terms?: Partial<Terms>;
  dataset?: TinyDataset['manifest'];
  sealedTo?: 'dataset' | 'another';
}) {
  const offered = await tinyJob({ spec: change.spec ?? {}, terms: change.terms ?? {} });
  const party = await present();
  const dataKey = change.sealedTo === 'another' ? { datasetId: new Uint8Array(32) } : {};
  const { session } = party;
  const dataset = { ...offered.dataset, manifest: { ...offered.dataset.manifest, id: offered.spec.dataset.id } };
  const request = jobRequest(offered, await grantTo({ ...offered, dataset }, party, { dataKey }));
  const given = change.dataset ?? job.dataset.manifest;
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

  it.each<[string, string, Partial<Terms>]>([
    ['TERMS_PLAN', 'a plan of nobody’s', { planDigest: new Uint8Array(32).fill(0xee) }],
    ['TERMS_SELECTORS', 'a verifier of another scheme', { dutySelectors: [Uint8Array.of(1, 2, 3, 4)] }],
    ['TERMS_MODE', 'proofs that the spec knows nothing of', { mode: JobMode.tee | JobMode.full | JobMode.reveal }],
    ['TERMS_WINDOW', 'no time to challenge', { windows: { ...job.terms.windows, challenge: 0 } }],
    ['TERMS_PARTY', 'a provider that attests itself', { attestors: [provider] }],
  ])('Z-H2 is refused with %s where the escrow names %s', async (code, _what, terms) => {
    await expect(offer({ terms })).rejects.toMatchObject({ code });
  });

  it('whose escrow leaves the provider open is taken', async () => {
    await expect(offer({ terms: { provider: new Uint8Array(20) } })).resolves.toHaveLength(0);
  });

  it.each([
    ['with the key of another data set', 'DATA_KEY_DATASET', { sealedTo: 'another' }],
    ['that breaks a range rule', 'STEP_RANGE_R1', { spec: { manifest: program({ e: [40, 40] }) } }],
    ['of an unknown program', 'MANIFEST_VERSION', { spec: { manifest: program({ fxt: 3 }) } }],
    ['with an unknown member in its program', 'MANIFEST_UNKNOWN_FIELD', { spec: { manifest: program({ x: 1 }) } }],
    ['whose program is not JSON', 'MANIFEST_JSON', { spec: { manifest: utf8('{') } }],
    ['whose program is not canonical', 'MANIFEST_CANONICAL', { spec: { manifest: spaced() } }],
    ['with more weights than a partial holds', 'JOB_SIZE', { spec: { manifest: program(wide), parallel: 2 } }],
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

describe('a data key', () => {
  it('opens in the session and for the job that it was sealed to, and nowhere else', async () => {
    const [one, two] = [await present(), await present()];
    const granted = await grantTo(job, one);
    const failed = { code: 'UNSEAL_FAILED' };
    const sealed = async (party: typeof one, of: typeof job, sealedKey: Uint8Array) => {
      const grant = await grantTo(of, party, { release: { grant: sha256(sealedKey) } });
      return party.session.request('job', jobRequest(of, { ...grant, sealedKey }));
    };
    await expect(sealed(two, job, granted.sealedKey)).rejects.toMatchObject(failed);
    const [salted, priced] = [
      await tinyJob({ spec: { salt: new Uint8Array(32) } }),
      await tinyJob({ terms: { price: 9n } }),
    ];
    for (const of of [salted, priced]) {
      await expect(sealed(one, of, granted.sealedKey)).rejects.toMatchObject(failed);
    }
    for (let at = 0; at < granted.sealedKey.length; at += 7) {
      const changed = granted.sealedKey.map((byte, i) => (i === at ? byte ^ 2 : byte));
      for (const sealedKey of [changed, granted.sealedKey.subarray(0, at)]) {
        await expect(sealed(one, job, sealedKey)).rejects.toMatchObject(failed);
      }
    }
    await expect(one.session.request('job', jobRequest(job, granted))).resolves.toHaveLength(0);
  });

  it('of another length is refused', async () => {
    const party = await present();
    const granted = await grantTo(job, party, { plaintext: new Uint8Array(63) });
    await expect(party.session.request('job', jobRequest(job, granted))).rejects.toMatchObject({
      code: 'DATA_KEY_LENGTH',
    });
  });
});
