import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { recoverAddress, toHex, type Rejection } from '#attestation/base';
import {
  domainSeparator,
  escrowIdOf,
  parseStepStatement,
  runDigest,
  teeSelector,
  verifyReceipt,
  type Checkpoint,
} from '#attestation/records';
import { checkpointKey, openCheckpoint, sealCheckpoint } from '#libs/sealing';
import type { EventOf } from '#libs/wire/channel';
import {
  chainId,
  contract,
  hostSecret,
  jobRequest,
  provider,
  registry,
  tinyDataset,
  tinyJob,
  tinyManifest,
  tinySession,
  type TinyDataset,
  type TinyJob,
} from '#test/tiny-job';
import { grantTo, keyed, present, type Keyed } from '#test/tiny-release';

const job = await tinyJob();
const opening = { provider, chainId, registry };
const nonce = new Uint8Array(32).fill(3);
const train = { checkpoint: null, threads: 1 };

async function trained(of: TinyJob, checkpoint: Uint8Array | null = null) {
  const party = await keyed(of);
  await party.session.request('train', { checkpoint, threads: 1 });
  return { ...party, end: await party.session.ended() };
}

const checkpoints = ({ session }: Pick<Keyed, 'session'>) =>
  session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');

const whole = await trained(job);

describe('a whole session', () => {
  const result = whole.end as EventOf<'result'>;

  it('trains segment after segment and signs each for its statement', async () => {
    expect(result.type).toBe('result');
    const signed = checkpoints(whole);
    expect(signed.map(({ step }) => step)).toEqual([8, 16, 20]);
    expect(result.borders).toHaveLength(4);
    for (const [index, { statement, receipt }] of signed.entries()) {
      const parsed = parseStepStatement(statement);
      expect(parsed).toMatchObject({ stepFrom: 8 * index, stepCount: index === 2 ? 4 : 8 });
      expect(parsed.weightsBefore).toEqual(result.borders[index]);
      expect(parsed.weightsAfter).toEqual(result.borders[index + 1]);
      await verifyReceipt(receipt, parsed, whole.parsed.binding.receiptKey);
      const other = { ...parsed, stepFrom: parsed.stepFrom + 1 };
      await expect(verifyReceipt(receipt, other, whole.parsed.binding.receiptKey)).rejects.toMatchObject({
        code: 'RECEIPT_STATEMENT',
      });
    }
  });

  it('seals the run with the settlement key that the evidence binds', () => {
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    const digest = runDigest(domain, { job: escrowIdOf(job.terms), ...result.run });
    expect(result.seal.subarray(0, 4)).toEqual(teeSelector);
    expect(recoverAddress(digest, result.seal.subarray(4))).toEqual(whole.parsed.binding.settlementKey);
    expect(result.run).toMatchObject({ upTo: 3, outcome: 0, last: result.borders.at(-1) });
  });

  it('ends in the same bits from any checkpoint, also of another session', async () => {
    for (const { ciphertext, step } of checkpoints(whole)) {
      const resumed = await trained(job, ciphertext);
      expect((resumed.end as EventOf<'result'>).borders).toEqual(result.borders);
      expect(checkpoints(resumed).map((event) => event.step)).toEqual([8, 16, 20].filter((at) => at > step));
    }
  });

  it.each([
    ['a flipped bit', (bytes: Uint8Array) => bytes.map((byte, at) => (at === 40 ? byte ^ 1 : byte))],
    ['its end cut off', (bytes: Uint8Array) => bytes.subarray(0, -1)],
    ['nothing in it', () => new Uint8Array()],
  ])('refuses a checkpoint with %s', async (_, change) => {
    const bad = await trained(job, change(checkpoints(whole)[0]!.ciphertext));
    expect(bad.end).toMatchObject({ type: 'failed', code: 'CHECKPOINT_AUTHENTICATION' });
  });

  it.each<[string, string, (c: Checkpoint) => Partial<Checkpoint>]>([
    ['another step', 'CHECKPOINT_STATE', () => ({ step: 7 })],
    ['a step beyond its borders', 'CHECKPOINT_STATE', () => ({ step: 16 })],
    ['no borders', 'CHECKPOINT_STATE', () => ({ borders: [] })],
    ['another start', 'CHECKPOINT_STATE', ({ borders }) => ({ borders: [borders[1]!, borders[1]!] })],
    [
      'other weights',
      'CHECKPOINT_STATE',
      ({ weights }) => ({ weights: weights.map((byte, at) => (at === 0 ? byte ^ 1 : byte)) }),
    ],
    ['fewer weights', 'WEIGHTS_LENGTH', ({ weights }) => ({ weights: weights.subarray(8) })],
    [
      'weights out of range',
      'WEIGHTS_RANGE',
      ({ weights }) => ({ weights: weights.map((byte, at) => (at === 6 ? 0x7f : byte)) }),
    ],
  ])('refuses a checkpoint with %s, although its key is right: %s', async (_, code, change) => {
    const key = await checkpointKey({ dataKey: job.dataset.key, hostSecret, jobId: job.jobId });
    const first = await openCheckpoint(key, job.jobId, checkpoints(whole)[0]!.ciphertext);
    const bad = await trained(job, await sealCheckpoint(key, job.jobId, { ...first, ...change(first) }));
    expect(bad.end).toMatchObject({ type: 'failed', code });
  });

  it('refuses the checkpoint of another job', async () => {
    const other = await tinyJob({ spec: { salt: new Uint8Array(32) } });
    const bad = await trained(other, checkpoints(whole)[0]!.ciphertext);
    expect(bad.end).toMatchObject({ type: 'failed', code: 'CHECKPOINT_AUTHENTICATION' });
  });

  it('trains on only when a checkpoint has left, for nothing leaves while it trains', async () => {
    const party = await keyed(job);
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const sealed = new Promise<void>((resolve) => {
      party.session.onEvent(({ type }) => (type === 'checkpoint' ? (resolve(), left) : undefined));
    });
    await party.session.request('train', train);
    await sealed;
    await sleep(300);
    expect(party.session.events.at(-1)).toMatchObject({ type: 'checkpoint', step: 8 });
    leave();
    expect((await party.session.ended()) as EventOf<'result'>).toMatchObject({ borders: result.borders });
  });

  it('reports progress that only rises, and no event after the end', () => {
    const steps = whole.session.events.flatMap((event) => (event.type === 'progress' ? [event.step] : []));
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(whole.session.events.at(-1)).toBe(whole.end);
  });
});

describe('a job that leaves its range', () => {
  it('stops with step and tensor, sealed with outcome 1 over the segments that were whole', async () => {
    const diverging = await tinyJob({ manifest: tinyManifest({ e: 0, steps: 4000 }), segmentSteps: 1000 });
    const { end, parsed } = await trained(diverging);
    expect(end).toMatchObject({
      type: 'stopped',
      got: expect.stringContaining('a value beyond it') as string,
      action: expect.stringContaining('lower the learning rate to') as string,
      tensor: expect.stringMatching(/^[YGWb]\d$/) as string,
    });
    const { run, seal, borders } = end as EventOf<'stopped'>;
    expect(run).toMatchObject({ outcome: 1, upTo: borders.length - 1 });
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    const digest = runDigest(domain, { job: escrowIdOf(diverging.terms), ...run });
    expect(recoverAddress(digest, seal.subarray(4))).toEqual(parsed.binding.settlementKey);
  });
});

describe('order', () => {
  const order = { code: 'REQUEST_ORDER' };
  const shard = { index: 0, ciphertext: job.dataset.shards[0]! };
  const nobody = { job: nonce, session: nonce, policy: nonce, evidence: nonce, nonce, grantedAt: 0, notAfter: 1 };
  const release = { ...nobody, provider, dataset: nonce, key: provider, grant: nonce };
  const offered = jobRequest(job, { release, signature: new Uint8Array(65), sealedKey: new Uint8Array(112) });

  it('refuses everything before open', async () => {
    const session = tinySession();
    await expect(session.request('attest', { nonce })).rejects.toMatchObject(order);
    await expect(session.request('job', offered)).rejects.toMatchObject(order);
    await expect(session.request('shard', shard)).rejects.toMatchObject(order);
    await expect(session.request('train', train)).rejects.toMatchObject(order);
    await expect(session.request('cancel', {})).resolves.toHaveLength(0);
    expect(session.events).toEqual([]);
  });

  it('refuses a second open, also one sent together with the first, and keeps the keys', async () => {
    const session = tinySession();
    const [first, second] = await Promise.allSettled([
      session.request('open', opening),
      session.request('open', opening),
    ]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: order });
    const evidence = await session.request('attest', { nonce });
    const binding = (first as PromiseFulfilledResult<Uint8Array>).value;
    expect(toHex(evidence)).toContain(toHex(binding).slice(2, 60));
  });

  it('refuses shards and training before a job, and training before every shard', async () => {
    const session = tinySession();
    await session.request('open', opening);
    await expect(session.request('shard', shard)).rejects.toMatchObject(order);
    await expect(session.request('train', train)).rejects.toMatchObject(order);
    const party = await keyedWithoutShards();
    await expect(party.request('train', train)).rejects.toMatchObject({ code: 'SHARDS_MISSING' });
    await party.request('shard', shard);
    await expect(party.request('train', train)).rejects.toMatchObject({ code: 'SHARDS_MISSING' });
    await party.request('shard', { index: 1, ciphertext: job.dataset.shards[1]! });
    await party.request('train', train);
    expect(await party.ended()).toMatchObject({ type: 'result' });
  });

  it('refuses a second job and a second start while one runs, and the first ends undisturbed', async () => {
    const party = await present();
    const { session } = party;
    const granted = await grantTo(job, party);
    await session.request('job', jobRequest(job, granted));
    for (const [index, ciphertext] of job.dataset.shards.entries())
      await session.request('shard', { index, ciphertext });
    const all = await Promise.allSettled([
      session.request('train', train),
      session.request('job', jobRequest(job, granted)),
      session.request('train', train),
      session.request('shard', shard),
    ]);
    expect(all[0]!.status).toBe('fulfilled');
    for (const late of all.slice(1)) expect(late).toMatchObject({ status: 'rejected', reason: order });
    const end = await session.ended();
    expect((end as EventOf<'result'>).borders).toEqual((whole.end as EventOf<'result'>).borders);
  });

  it('takes another job after the end of one', async () => {
    const party = await present();
    const { session } = party;
    const granted = await grantTo(job, party);
    for (let round = 0; round < 2; round++) {
      await session.request('job', jobRequest(job, granted));
      for (const [index, ciphertext] of job.dataset.shards.entries()) {
        await session.request('shard', { index, ciphertext });
      }
      await session.request('train', train);
      expect(await session.ended()).toMatchObject({ type: 'result' });
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it('cancels a run with its code, also when told together with the start', async () => {
    const long = await tinyJob({ manifest: tinyManifest({ steps: 400_000 }), segmentSteps: 100_000 });
    const { session } = await keyed(long);
    const [started] = await Promise.all([session.request('train', train), session.request('cancel', {})]);
    expect(started).toHaveLength(0);
    expect(await session.ended()).toMatchObject({ type: 'failed', code: 'JOB_CANCELLED' });
  });

  async function keyedWithoutShards() {
    const party = await present();
    const { session } = party;
    const granted = await grantTo(job, party);
    await session.request('job', jobRequest(job, granted));
    return session;
  }
});

describe('a data set', () => {
  const refusal = async (dataset: TinyDataset): Promise<Rejection> => {
    const { session } = await keyed(await tinyJob({ dataset }));
    const error = await session.request('train', train).catch((thrown: unknown) => thrown);
    expect(session.events).toEqual([]);
    return error as Rejection;
  };

  it('that is not what its root says is refused before anything is trained', async () => {
    const error = await refusal(await tinyDataset(job.manifest, { lastLabel: 201, root: 'before' }));
    expect(error).toMatchObject({ code: 'DATASET_ROOT', detail: { got: 'records of another root' } });
  });

  it('with a label that is no class is refused by its shard, and no value of it is told', async () => {
    const error = await refusal(await tinyDataset(job.manifest, { lastLabel: 201 }));
    expect(error).toMatchObject({ code: 'LABEL_RANGE' });
    expect(error.detail.expected).toBe('labels below 3 in shard 1');
    expect(JSON.stringify(error.toJSON())).not.toContain('201');
  });
});
