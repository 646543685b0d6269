import { describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { dutySelectorOf, encodeJobSpec, escrowIdOf, JobMode, termsJson, type Terms } from '#attestation/records';
import { planOf } from '#libs/proof';
import { chainId, contract, provider, tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import { checkTerms, readOffer } from './offered-job.js';

const manifest = tinyManifest({ steps: 12, superblock: 4 });
const dataset = await tinyDataset(manifest, { proving: 'chain1' });
const windows: Terms['windows'] = {
  ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 0, ack: 0, drawBlocks: 0 },
};
const fair: Partial<Terms> = { mode: JobMode.full, dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })], windows };
const settings = {
  chain: { deployment: { chainId, settlement: to0x(contract) } },
  escrow: { windowMaxSeconds: 86_400, computeMaxSeconds: 86_400, proofSeconds: 60, answerMinWei: 10n },
  memoryMiB: 4096,
  proves: true,
} as Parameters<typeof readOffer>[1];

/** @param plan that spec and terms name; absent: that of the manifest */
async function offer(
  change: Partial<Terms>,
  plan?: Uint8Array,
  assurance: 'tee' | 'zk' | 'sampled' = 'zk',
  { profile = 'chain1', of = settings, records = 32 } = {},
) {
  const own = { manifest, dataset, segmentSteps: 4, spec: { assurance } } as const;
  const planDigest = plan ?? planOf({ manifest, profile, variant: 'separate' }).digest;
  const proving = { profile, variant: 'separate', planDigest } as const;
  const { id, root, shards } = dataset.manifest;
  const spec = { ...own.spec, proving, dataset: { id, root, records, shards: shards.length } };
  const made = await tinyJob({ ...own, spec, terms: { ...fair, ...change } });
  const assigned = {
    ...{ jobId: to0x(made.jobId), escrowId: to0x(escrowIdOf(made.terms)), brokerUrl: 'http://127.0.0.1:9' },
    ...{ spec: Buffer.from(encodeJobSpec(made.spec)).toString('base64'), terms: termsJson(made.terms), policy: '' },
    ...{ datasetManifest: {}, resume: null },
  };
  return readOffer(assigned as Parameters<typeof readOffer>[0], of);
}

describe('Z-H2 a prover', () => {
  it('Z-H2 takes the plan of the manifest, the selector of the scheme and windows for its proofs', async () => {
    expect((await offer({})).terms.windows).toEqual(windows);
  });

  it('refuses a profile whose proofs no contract takes, whatever the terms say', async () => {
    const refused = offer({}, undefined, 'zk', { profile: 'fast16' });
    await expect(refused).rejects.toMatchObject({ code: 'PROVER_JOB', detail: { got: 'fast16 for this manifest' } });
  });

  const nobodys = new Uint8Array(32).fill(0xee);
  it.each<[string, string, Partial<Terms>, Uint8Array | undefined]>([
    ['TERMS_PLAN', 'a plan of nobody’s in the terms', { planDigest: nobodys }, undefined],
    ['TERMS_PLAN', 'a plan of nobody’s in spec and terms alike', {}, nobodys],
    ['PROVER_JOB', 'a verifier of another scheme', { dutySelectors: [new Uint8Array(4)] }, undefined],
    ['TERMS_PROVE', 'a second to prove', { windows: { ...windows, prove: 1 } }, undefined],
    ['TERMS_PROVE', 'a second for each segment', { windows: { ...windows, provePer: 1 } }, undefined],
    ['TERMS_WINDOW', 'windows that would lock its stake', { windows: { ...windows, challenge: 86_401 } }, undefined],
  ])('Z-H2 refuses with %s %s', async (code, _what, change, plan) => {
    await expect(offer(change, plan)).rejects.toMatchObject({ code, family: 'rejection' });
  });

  it('of a sampled job takes no more draws than the proof leaves room for', async () => {
    const drawing = (samples: number) => {
      const sampled = { mode: JobMode.sample, samples, windows: { ...windows, draw: 3600, drawBlocks: 64 } };
      return offer(sampled, undefined, 'sampled');
    };
    expect((await drawing(24)).terms.samples).toBe(24);
    await expect(drawing(25)).rejects.toMatchObject({ code: 'TERMS_SAMPLES' });
    const got = 'chain1 for this manifest with 30000 samples';
    await expect(drawing(30_000)).rejects.toMatchObject({ code: 'PROVER_JOB', detail: { got } });
  });

  it('holds no place for an escrow that may be accepted long after it was offered', async () => {
    const stakes = { token: new Uint8Array(20), price: 10n, stake: 5n, liveness: 1n };
    const limits = {
      ...{ ...settings.escrow, tokens: [], priceMinWei: 1n, stakeMaxWei: 5n, computeMinSeconds: 60 },
      ...{ proveMinSeconds: 60, multiplyAddsPerSecond: 1e9 },
    };
    const latest = Math.floor(Date.now() / 1000) + limits.windowMaxSeconds;
    const check = async (acceptBy: number) => checkTerms(await offer({ ...stakes, acceptBy }), provider, limits);
    await expect(check(latest)).resolves.toBeUndefined();
    await expect(check(latest + 60)).rejects.toMatchObject({ code: 'PROVER_JOB' });
  });

  it('of a job whose seal may be taken away takes no challenge that pays less than its answer costs', async () => {
    const sealed = { mode: JobMode.tee, bond: 20n, bondFee: 10n };
    expect((await offer(sealed, undefined, 'tee')).terms.bond).toBe(20n);
    await expect(offer({ ...sealed, bondFee: 11n }, undefined, 'tee')).rejects.toMatchObject({ code: 'TERMS_BOND' });
  });
});

describe('a prover of proofs in two transactions', () => {
  const profile = 'chain256';
  const selector = dutySelectorOf({ scheme: 'fxt-zk/1', proving: { profile } as never });
  const verifier = { address: `0x${'11'.repeat(20)}`, codeHash: `0x${'22'.repeat(32)}` };
  const deployment = { ...settings.chain.deployment, extensions: { zkSplitVerifier: verifier } };
  const of = { ...settings, chain: { ...settings.chain, deployment } };
  const take = (own: typeof settings, dutySelectors = [selector]) =>
    offer({ dutySelectors }, undefined, 'zk', { profile, of: own });

  it('takes the job where contracts and memory are enough', async () => {
    expect((await take(of)).spec.proving!.profile).toBe(profile);
  });

  it.each<[string, string, Partial<Terms['dutySelectors']> | undefined, typeof settings]>([
    ['terms that the verifier of whole proofs meets', 'PROVER_JOB', fair.dutySelectors, of],
    ['contracts without such a verifier', 'PROVER_JOB', undefined, settings],
    ['more memory than it may use', 'PROVER_JOB', undefined, { ...of, memoryMiB: 64 }],
  ])('refuses %s', async (_what, code, selectors, own) => {
    await expect(take(own, (selectors ?? [selector]) as Uint8Array[])).rejects.toMatchObject({ code });
  });
});

describe('a prover of proofs of several segments', () => {
  const contracts = { address: `0x${'11'.repeat(20)}`, codeHash: `0x${'22'.repeat(32)}` };
  const deployment = { ...settings.chain.deployment, extensions: { zkUnitMatmuls: contracts } };
  const of = { ...settings, chain: { ...settings.chain, deployment } };
  const take = (own: typeof settings, records: number) =>
    offer({}, undefined, 'zk', { profile: 'unit64', of: own, records });
  /** Sixteen superblocks of four batches of four. */
  const most = 16 * 4 * 4;

  it('takes the job where the contracts are there and one commitment has room for the set', async () => {
    expect((await take(of, most)).spec.proving!.profile).toBe('unit64');
  });

  it('refuses contracts without their relations, and a set that no such proof can speak of', async () => {
    await expect(take(settings, most)).rejects.toMatchObject({ code: 'PROVER_JOB' });
    await expect(take(of, most + 16)).rejects.toMatchObject({ code: 'STEP_STATEMENT' });
  });
});
