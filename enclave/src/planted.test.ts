/** The attacks of grant and chain again, with the rule that stops each taken away: each then has what it came for. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkpointKeyInfo } from '#attestation/records';
import { deriveKey, checkpointKey, openCheckpoint, sealCheckpoint } from '#libs/sealing';
import { begun, jobOf, kinds, moved, resealed, resumed, strangersSecret } from '#test/host-attack';
import { hostSecret, jobRequest } from '#test/tiny-job';
import { grantTo, keyed, present } from '#test/tiny-release';

const planted = vi.hoisted(() => ({ fault: 'none' }));

vi.mock('./grant.js', async (original) => {
  const real = await original<typeof import('./grant.js')>();
  const checkGrant: typeof real.checkGrant = (...given) =>
    planted.fault === 'grant of another broker' ? undefined : real.checkGrant(...given);
  return { ...real, checkGrant };
});
vi.mock('./chain.js', async (original) => {
  const real = await original<typeof import('./chain.js')>();
  const checkChain: typeof real.checkChain = (job, checkpoint) =>
    planted.fault === 'borders without receipts'
      ? Promise.resolve({ evaluations: [], ...checkpoint })
      : real.checkChain(job, checkpoint);
  return { ...real, checkChain };
});
vi.mock('#attestation/records', async (original) => {
  const real = await original<typeof import('#attestation/records')>();
  const checkpointSecret: typeof real.checkpointSecret = (dataKey, secret) =>
    planted.fault === 'data key alone' ? dataKey : real.checkpointSecret(dataKey, secret);
  return { ...real, checkpointSecret };
});
afterEach(() => void (planted.fault = 'none'));

describe('planted faults', () => {
  it('A-C1 N1 grant of another broker: the host trains on under a key of its own', async () => {
    const job = await resealed(await jobOf('plain'));
    const party = await present();
    const request = jobRequest(job, await grantTo(job, party, { signer: strangersSecret }));
    await expect(party.session.request('job', request)).rejects.toMatchObject({ code: 'GRANT_SIGNER' });
    planted.fault = 'grant of another broker';
    await expect(party.session.request('job', request)).resolves.toHaveLength(0);
  });

  it.each(kinds)(
    'N2 borders without receipts, in a %s job: weights that nobody trained go into a seal',
    async (kind) => {
      const job = await jobOf(kind);
      const made = await begun(job, await keyed(job));
      const refused = await resumed(job, await keyed(job), moved(job, made));
      expect(refused).toMatchObject({ code: 'CHECKPOINT_RECEIPT' });
      planted.fault = 'borders without receipts';
      const end = await resumed(job, await keyed(job), moved(job, made));
      expect(end.type).toBe(kind === 'parallel' ? 'partial' : 'result');
    },
  );

  it('N11 data key alone: the owner reads the model of a checkpoint without the host', async () => {
    const { jobId, dataset } = await jobOf('plain');
    const secrets = { jobId, dataKey: dataset.key, hostSecret };
    const checkpoint = {
      version: 2,
      step: 0,
      borders: [],
      weights: new Uint8Array(8),
      links: [],
      sessions: [],
    } as const;
    const owner = await deriveKey(dataset.key, jobId, checkpointKeyInfo());
    const stored = await sealCheckpoint(await checkpointKey(secrets), jobId, checkpoint);
    await expect(openCheckpoint(owner, jobId, stored)).rejects.toMatchObject({ code: 'CHECKPOINT_AUTHENTICATION' });
    planted.fault = 'data key alone';
    const leaked = await sealCheckpoint(await checkpointKey(secrets), jobId, checkpoint);
    await expect(openCheckpoint(owner, jobId, leaked)).resolves.toMatchObject({ version: 2 });
  });
});
