/** The attacks of grant and chain again, with the rule that stops each taken away: each then has what it came for. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkpointKeyInfo, parseEvaluation, type Checkpoint, type EvaluationStatement } from '#attestation/records';
import { deriveKey, checkpointKey, openCheckpoint, sealCheckpoint } from '#libs/sealing';
import {
  begun,
  jobOf,
  kinds,
  moved,
  openedCheckpoints,
  ranOn,
  remeasured,
  resealed,
  resumed,
  signedBy,
  stoppingJob,
  strangersSecret,
  strangersSession,
} from '#test/host-attack';
import { keyedNet } from '#test/net-job';
import { hostSecret, jobRequest, signingSecret } from '#test/tiny-job';
import { grantTo, keyed, present } from '#test/tiny-release';

type Evaluation = NonNullable<Checkpoint['evaluations']>[number];

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
vi.mock('./evaluated.js', async (original) => {
  const real = await original<typeof import('./evaluated.js')>();
  const checkEvaluations: typeof real.checkEvaluations = (...given) =>
    planted.fault === 'evaluations of the host’s choice' ? undefined : real.checkEvaluations(...given);
  return { ...real, checkEvaluations };
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

describe.each(['plain', 'parallel'] as const)(
  'evaluations of the host’s choice, in a %s job that stops at step 16',
  async (kind) => {
    const job = await stoppingJob(kind);
    const { party, opened } = await openedCheckpoints(job);
    const [first, second] = opened as [Checkpoint, Checkpoint];
    const [one, two] = second.evaluations as [Evaluation, Evaluation];
    const stranger = await strangersSession(party, {}, signingSecret);
    const word = new Uint8Array(32).fill(0x5e);
    const saying = async (change: Partial<EvaluationStatement>) =>
      remeasured(await signedBy({ ...job, manifest: job.net }, first, stranger), stranger, change);
    const perfect = parseEvaluation(one.statement).metrics.map((each) =>
      each.metric === 'accuracy' ? { ...each, numerator: each.denominator } : each,
    );
    const having = (checkpoint: Checkpoint, evaluations: readonly Evaluation[]) => ({
      ...{ ...checkpoint, evaluations: evaluations.length > 0 ? [...evaluations] : undefined },
      ...(evaluations.includes(two) && checkpoint === first && { best: second.weights }),
    });

    it('is as it must be without them', async () => {
      expect(opened.map(({ step }) => step)).toEqual([8, 16]);
      for (const checkpoint of opened) {
        const end = await ranOn(job, await keyedNet(job), checkpoint);
        expect(end).toMatchObject({ type: 'result', run: { outcome: 3, upTo: 2 } });
      }
    });

    it.each<[string, number, number, () => Checkpoint | Promise<Checkpoint>]>([
      ['the first dropped', 0, 3, () => having(first, [])],
      ['the first of two dropped', 3, 2, () => having(second, [two])],
      ['two swapped', 0, 3, () => having(second, [two, one])],
      ['one repeated', 3, 2, () => having(first, [one, one])],
      ['a later one inserted', 3, 1, () => having(first, [one, two])],
      ['a later one in its place', 3, 1, () => having(first, [two])],
      ['one of other weights', 3, 2, () => saying({ weights: word })],
      ['one over another validation set', 3, 2, () => saying({ validationRoot: word })],
      ['one of another program', 3, 2, () => saying({ programDigest: word })],
      ['one of other metrics', 3, 2, () => saying({ metrics: parseEvaluation(one.statement).metrics.toReversed() })],
      ['one of another job', 3, 2, () => saying({ jobId: word })],
      ['one by a released session that signed no border', 3, 2, () => remeasured(first, stranger, {})],
      ['false figures by such a session', 3, 2, () => remeasured(first, stranger, { metrics: perfect })],
      [
        'an end that the rule has not',
        3,
        1,
        () => saying({ end: { reason: 'stopped', step: 8, weights: first.borders[1]! } }),
      ],
    ])('N2 with %s are refused; unchecked, outcome %i after %i segments is sealed', async (_, outcome, upTo, made) => {
      const checkpoint = await made();
      const refused = await ranOn(job, await keyedNet(job), checkpoint);
      expect(refused).toMatchObject({ type: 'failed', code: 'CHECKPOINT_EVALUATIONS' });
      planted.fault = 'evaluations of the host’s choice';
      const end = await ranOn(job, await keyedNet(job), checkpoint);
      expect(end).toMatchObject({ type: 'result', run: { outcome, upTo } });
    });
  },
);
