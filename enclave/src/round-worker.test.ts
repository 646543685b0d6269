import { describe, expect, it, onTestFinished } from 'vitest';
import { recoverAddress, toHex } from '#attestation/base';
import {
  checkPartials,
  domainSeparator,
  encodeStepStatement,
  escrowIdOf,
  keysDigest,
  parseRoundStatement,
  parseStepStatement,
  runDigest,
  signReceipt,
  verifyReceipt,
  verifyRoundReceipt,
  type StepStatement,
} from '#attestation/records';
import { checkpointKey, openCheckpoint } from '#libs/sealing';
import { decodeWeights, encodeWeights, initialWeights, stateDigest } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { holdEngine } from '#test/gated-engine';
import { keyedNet, netJob, tableNet } from '#test/net-job';
import { chainId, contract, hostSecret, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { keyed, signRelease } from '#test/tiny-release';
import {
  average,
  crew,
  partial,
  referenceDigests,
  runRounds,
  segment,
  tinyParallelJob,
  type Rounds,
} from '#test/tiny-rounds';
import { createSessionKeys } from './keys.js';
import { sealPartial } from './partial.js';

const job = await tinyParallelJob(2);
const members = await crew(job, 3);
const plainly = await runRounds(
  job,
  members,
  (index) => index % 2,
  () => 0,
);

async function digestsOf(of: TinyJob, { checkpoints }: Rounds): Promise<string[]> {
  const key = await checkpointKey({ dataKey: of.dataset.key, hostSecret, jobId: of.jobId });
  return Promise.all(
    checkpoints.map(async ({ ciphertext }) => {
      const { weights } = await openCheckpoint(key, of.jobId, ciphertext);
      return toHex(stateDigest(of.manifest, decodeWeights(of.manifest, weights)));
    }),
  );
}

describe('rounds of a data-parallel job', () => {
  it('end in what integers alone give, for two workers and for three', async () => {
    expect(await digestsOf(job, plainly)).toEqual(await referenceDigests(job));
    const three = await tinyParallelJob(3);
    const run = await runRounds(
      three,
      await crew(three, 1),
      () => 0,
      () => 0,
    );
    expect(await digestsOf(three, run)).toEqual(await referenceDigests(three));
    expect((await digestsOf(three, run)).at(-1)).not.toBe((await digestsOf(job, plainly)).at(-1));
  });

  it('of one worker are the segments of the plain job, bit for bit', async () => {
    const one = await tinyParallelJob(1);
    const party = await keyed(one);
    await party.session.request('train', { checkpoint: null, threads: 1 });
    await party.session.ended();
    const checkpoints = party.session.events.filter(
      (event): event is EventOf<'checkpoint'> => event.type === 'checkpoint',
    );
    const digests = await digestsOf(one, { ...plainly, checkpoints });
    expect(digests).toEqual(await referenceDigests(one));
    expect(one.jobId).toEqual((await tinyJob({ manifest: tinyManifest({ steps: 24 }), segmentSteps: 4 })).jobId);
  });

  it('do not depend on who trained or averaged what, nor on the order of arrival', async () => {
    for (const seed of [1, 2, 3]) {
      const pick = (at: number): number => (at * 7 + seed * 5 + ((at * seed) >> 1)) % members.length;
      const fresh = await crew(job, members.length);
      const run = await runRounds(
        job,
        fresh,
        pick,
        (round) => pick(round + 3),
        (list) => list.toReversed(),
      );
      expect(await digestsOf(job, run)).toEqual(await digestsOf(job, plainly));
      expect(run.result.borders).toEqual(plainly.result.borders);
      expect(run.partials.flat().map(({ statement }) => statement)).toEqual(
        plainly.partials.flat().map(({ statement }) => statement),
      );
    }
  });

  it('are signed as a tree: every partial by its worker, the round over their receipts, the run over the rounds', async () => {
    const { borders } = plainly.result;
    expect(borders).toHaveLength(4);
    for (const [round, { statement, receipt }] of plainly.checkpoints.entries()) {
      const said = parseRoundStatement(statement);
      expect(said).toMatchObject({ stepFrom: 8 * round, stepCount: 8 });
      expect([said.weightsBefore, said.weightsAfter]).toEqual([borders[round], borders[round + 1]]);
      await verifyRoundReceipt(receipt, said, members[0]!.parsed.binding.receiptKey);
      const partials = plainly.partials[round]!.map((one) => ({
        statement: parseStepStatement(one.statement),
        receipt: one.receipt,
      }));
      checkPartials(job.spec, said, partials);
      for (const [worker, one] of partials.entries()) {
        await verifyReceipt(one.receipt, one.statement, members[worker]!.parsed.binding.receiptKey);
      }
    }
    const { run, seal } = plainly.result;
    expect(run).toMatchObject({ upTo: 3, outcome: 0, last: borders.at(-1) });
    const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
      job: escrowIdOf(job.terms),
      ...run,
    });
    expect(recoverAddress(digest, seal.subarray(4))).toEqual(members[0]!.parsed.binding.settlementKey);
  });
});

describe('an average', () => {
  const [one, two] = plainly.partials[0]!.map(({ ciphertext }) => ciphertext) as [Uint8Array, Uint8Array];
  const next = plainly.partials[1]!.map(({ ciphertext }) => ciphertext) as [Uint8Array, Uint8Array];
  const start = plainly.checkpoints[0]!.ciphertext;

  it.each<[string, readonly Uint8Array[], Uint8Array | null]>([
    ['nothing', [], null],
    ['one missing', [one], null],
    ['one twice', [two, two], null],
    ['one of another round', [one, next[1]], null],
    ['those of an earlier round', [one, two], start],
    ['those of a later round', next, null],
  ])('of %s is refused', async (_, partials, checkpoint) => {
    expect(await average(members[2]!, partials, checkpoint)).toMatchObject({ type: 'failed', code: 'ROUND_PARTIALS' });
    expect(await average(members[2]!, [two, one], null)).toMatchObject({ type: 'checkpoint', step: 8 });
  });

  it('behind the last round is refused, and so is a partial too many', async () => {
    const last = plainly.checkpoints.at(-1)!.ciphertext;
    expect(await average(members[2]!, next, last)).toMatchObject({ type: 'failed', code: 'ROUND_PARTIALS' });
    await members[2]!.session.request('partial', { ciphertext: one });
    await members[2]!.session.request('partial', { ciphertext: two });
    await expect(members[2]!.session.request('partial', { ciphertext: two })).rejects.toMatchObject({
      code: 'ROUND_PARTIALS',
    });
    expect(await average(members[2]!, [], null)).toMatchObject({ type: 'checkpoint' });
  });

  it('takes no partial of another job, no checkpoint for one, and nothing that was changed', async () => {
    const other = await tinyParallelJob(2, { spec: { salt: new Uint8Array(32) } });
    const foreign = await partial((await crew(other, 1))[0]!, 0, null);
    const bad = [foreign.ciphertext, start, new Uint8Array(), one.map((byte, at) => (at === 50 ? byte ^ 1 : byte))];
    for (const ciphertext of bad) {
      await expect(members[2]!.session.request('partial', { ciphertext })).rejects.toMatchObject({
        code: 'PARTIAL_AUTHENTICATION',
      });
    }
    const failed = await segment(members[2]!, 0, one);
    expect(failed).toMatchObject({ type: 'failed', code: 'CHECKPOINT_AUTHENTICATION' });
  });
});

describe('what a released session might seal', () => {
  const weights = encodeWeights(initialWeights(job.manifest));
  const honest = parseStepStatement(plainly.partials[0]![0]!.statement);

  /** By a session that nobody released, unless `session` says otherwise: it has a receipt key of its own. */
  async function sealed(statement: StepStatement, change: { weights?: Uint8Array; receiptKey?: Uint8Array } = {}) {
    const made = await createSessionKeys({ ...members[0]!.parsed.binding });
    const own = { ...made.binding, ...(change.receiptKey && { receiptKey: change.receiptKey }) };
    const receipt = await signReceipt(statement, made.binding.receiptKey, made.signReceipt);
    const { release: lawful } = members[0]!.granted;
    const release = { ...lawful, session: keysDigest(own), key: own.settlementKey };
    const session = { binding: own, release, signature: signRelease(release) };
    const said = { version: 2, statement: encodeStepStatement(statement), receipt } as const;
    const secrets = { dataKey: job.dataset.key, hostSecret, jobId: job.jobId };
    return sealPartial(secrets, { ...said, session, weights: change.weights ?? weights });
  }

  it('is refused where weights are not those of the statement: a mutated average has no way in', async () => {
    const ciphertext = await sealed(honest);
    await expect(members[2]!.session.request('partial', { ciphertext })).rejects.toMatchObject({
      code: 'PARTIAL_WEIGHTS',
    });
    const short = await sealed(honest, { weights: weights.subarray(8) });
    await expect(members[2]!.session.request('partial', { ciphertext: short })).rejects.toMatchObject({
      code: 'WEIGHTS_LENGTH',
    });
  });

  it('is refused with a receipt of another key', async () => {
    const ciphertext = await sealed(honest, { receiptKey: members[0]!.parsed.binding.receiptKey });
    await expect(members[2]!.session.request('partial', { ciphertext })).rejects.toMatchObject({ code: 'COSE_KEY_ID' });
  });

  it.each<[string, Partial<StepStatement>]>([
    ['another start', { weightsBefore: new Uint8Array(32) }],
    ['another job', { jobId: new Uint8Array(32) }],
    ['another program', { programDigest: new Uint8Array(32) }],
    ['other data', { datasetRoot: new Uint8Array(32) }],
    ['fewer steps', { stepCount: 3 }],
    ['steps of another worker', { stepFrom: 4 }],
  ])('is refused in the average with %s', async (_, change) => {
    const own = { ...honest, weightsAfter: plainly.result.borders[0]!, ...change };
    const event = await average(members[2]!, [await sealed(own), plainly.partials[0]![1]!.ciphertext], null);
    expect(event).toMatchObject({ type: 'failed', code: 'ROUND_PARTIALS' });
  });
});

describe('a session', () => {
  it('trains a segment from its own round’s start alone', async () => {
    const start = plainly.checkpoints[0]!.ciphertext;
    for (const [index, checkpoint] of [
      [2, null],
      [0, start],
      [4, start],
    ] as const) {
      expect(await segment(members[2]!, index, checkpoint)).toMatchObject({ type: 'failed', code: 'ROUND_SEGMENT' });
    }
  });

  it('trains no data-parallel job as a whole and no plain one in segments', async () => {
    const [fresh] = await crew(job, 1);
    await expect(fresh!.session.request('train', { checkpoint: null, threads: 1 })).rejects.toMatchObject({
      code: 'JOB_PARALLEL',
    });
    await fresh!.session.request('prepare', {});
    const plain = await keyed(await tinyJob());
    await expect(plain.session.request('prepare', {})).rejects.toMatchObject({ code: 'JOB_PARALLEL' });
    await expect(plain.session.request('segment', { index: 0, checkpoint: null, threads: 1 })).rejects.toMatchObject({
      code: 'JOB_PARALLEL',
    });
  });

  it('refuses steps that are no whole rounds, and terms of no provider', async () => {
    await expect(crew(await tinyParallelJob(2, { manifest: tinyManifest({ steps: 20 }) }), 1)).rejects.toThrow(
      /JOB_PARALLEL/,
    );
    const anyone = await tinyParallelJob(2, { terms: { provider: new Uint8Array(20) } });
    await expect(crew(anyone, 1)).rejects.toThrow(/JOB_ESCROW/);
  });

  it('stops, sealed, where a segment leaves its range, whoever trains it', async () => {
    const diverging = await tinyParallelJob(2, { manifest: tinyManifest({ e: 0, steps: 4000 }), segmentSteps: 1000 });
    const parties = await crew(diverging, 2);
    for (const party of parties) {
      const stopped = await segment(party, 0, null);
      expect(stopped).toMatchObject({ type: 'stopped', run: { upTo: 0, outcome: 1 } });
      const { step, tensor } = stopped as EventOf<'stopped'>;
      expect([step, tensor]).toEqual(
        (({ step: s, tensor: t }) => [s, t])((await segment(parties[0]!, 0, null)) as EventOf<'stopped'>),
      );
    }
  });

  it('goes on after a cancelled segment', async () => {
    const long = await tinyParallelJob(2, { manifest: tinyManifest({ steps: 40_000 }), segmentSteps: 20_000 });
    const [party] = await crew(long, 1);
    const gate = holdEngine(100);
    onTestFinished(gate.remove);
    const event = segment(party!, 0, null);
    await gate.reached;
    const cancelled = party!.session.request('cancel', {});
    gate.open();
    await cancelled;
    expect(await event).toMatchObject({ type: 'failed', code: 'JOB_CANCELLED' });
    await party!.session.request('segment', { index: 1, checkpoint: null, threads: 1 });
    await party!.session.request('cancel', {});
  });
});

describe('a data-parallel job with a rule to stop by', async () => {
  const stop = { metric: 'accuracy', patience: 1, minimum: 1_000 };
  const stopping = await netJob({ net: tableNet({ stop }), spec: { parallel: 2, segmentSteps: 4 } });
  const [one, two] = [await keyedNet(stopping), await keyedNet(stopping)];

  async function round(first: number, start: Uint8Array | null): Promise<Uint8Array> {
    const partials = [await partial(one, first, start), await partial(one, first + 1, start)];
    const made = await average(
      one,
      partials.map(({ ciphertext }) => ciphertext),
      start,
    );
    return (made as EventOf<'checkpoint'>).ciphertext;
  }

  const ended = await round(2, await round(0, null));

  it('is trained no further than its rule, in that session or another, and has one end', async () => {
    const first = one.session.events.at(-1) as EventOf<'result'>;
    expect(first.run).toMatchObject({ outcome: 3, upTo: 2 });
    for (const member of [one, two]) {
      expect(await segment(member, 4, ended)).toMatchObject({ type: 'failed', code: 'ROUND_SEGMENT' });
      const { type, run, evaluations } = (await average(member, [], ended)) as EventOf<'result'>;
      expect([type, run.outcome, run.upTo]).toEqual(['result', 3, 2]);
      expect([run.bordersRoot, evaluations]).toEqual([first.run.bordersRoot, first.evaluations]);
    }
  });
});
