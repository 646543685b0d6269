/** Jobs whose steps are proved: who may take them, how segments are claimed, what is refused. Proofs are made in test/e2e. */
import { randomBytes } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { In } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, to0x, toBase64 } from '#attestation/base';
import {
  bordersRoot,
  chunkListDigest,
  encodeJobSpec,
  encodeStepStatement,
  escrowIdOf,
  jobIdOf,
  JobMode,
  specDigestOf,
  termsJson,
} from '#attestation/records';
import { Job, SegmentProof } from '#libs/persistence';
import { planOf } from '#libs/proof';
import { sampleOf, type EscrowEvent } from '#libs/settlement';
import { canonicalManifest, manifestDigest, profileManifest } from '#libs/step';
import { pattern, ProofTask, type LeaseGrant } from '#libs/wire';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  capabilities,
  confirm,
  fund,
  makeJob,
  providers,
  refOf,
  segment,
  stateOf,
  storeBlob,
  submitFunded,
  upload,
  weights,
  type Fixture,
} from './job-fixture.js';

const profile = 'fast16';
const variant = 'separate' as const;
const manifest = profileManifest('fx1', { dims: [4, 3, 2], batch: 4, e: 5, steps: 3, seed: `0x${'5e'.repeat(32)}` });
const planDigest = planOf({ manifest, profile, variant }).digest;

/** Three segments of one step each, on two superblocks; all are proved, or a sample of two. */
function provedJob(clock: number, assurance: 'zk' | 'sampled' = 'zk'): Fixture {
  const plain = makeJob(clock);
  const commitment = { root: new Uint8Array(randomBytes(32)), ood: new Uint8Array(32) };
  const proving = { profile, commitments: [commitment, commitment] };
  const dataset = { ...plain.dataset, scheme: 'fxt-zk/1' as const, proving };
  const spec = {
    ...{ ...plain.spec, manifest: canonicalManifest(manifest), segmentSteps: 1, scheme: 'fxt-zk/1' as const },
    ...{ assurance, proving: { profile, variant, planDigest } },
  };
  const sampling = assurance === 'sampled' ? { mode: JobMode.sample, samples: 2 } : { mode: JobMode.full };
  const terms = { ...plain.terms, specDigest: specDigestOf(spec), ...sampling, segments: 3 };
  return {
    ...{ dataset, shards: plain.shards, spec, terms, jobId: to0x(jobIdOf(spec)), escrowId: to0x(escrowIdOf(terms)) },
    body: { ...plain.body, spec: toBase64(encodeJobSpec(spec)), terms: termsJson(terms) },
  };
}

function statementOf(job: Fixture, index: number): string {
  return toBase64(
    encodeStepStatement({
      ...{ jobId: jobIdOf(job.spec), programDigest: manifestDigest(manifest), datasetRoot: job.spec.dataset.root },
      ...{ stepFrom: index, stepCount: 1, weightsBefore: weights(index), weightsAfter: weights(index + 1) },
    }),
  );
}

let test: TestPlane;
const node = async (name: string, tee: string, who: 'operator' | 'otherOperator' = 'operator'): Promise<string> => {
  const message = { name, provider: providers[who], capabilities: { ...capabilities, tee } };
  return (await test.send<{ nodeId: string }>(pattern.nodeRegister, message, who)).nodeId;
};
let enclave: string;
let trainer: string;
let prover: string;
let other: string;
beforeAll(async () => {
  test = await startTestPlane();
  enclave = await node('enclave', 'simulated-snp');
  trainer = await node('trainer', 'none');
  prover = await node('prover', 'none');
  other = await node('other', 'none', 'otherOperator');
});
afterAll(() => test.stop());

async function submitted(assurance?: 'sampled'): Promise<Fixture> {
  const job = provedJob(test.clock.at(), assurance);
  await upload(test, job);
  await test.as('client').post('/v1/jobs', job.body).expect(201);
  await fund(test, job);
  return job;
}

async function wholeDelivery() {
  const blob = await storeBlob(test);
  const zero = to0x(new Uint8Array(32));
  const borders = [0, 1, 2, 3].map(weights);
  return {
    result: { blob, bytes: 64, ciphertextDigest: to0x(chunkListDigest(64, [fromHex(blob)])), keyCommit: zero },
    run: {
      ...{ upTo: 3, outcome: 0, bordersRoot: to0x(bordersRoot(borders)), last: to0x(weights(3)) },
      ...{ delivery: zero, keys: zero },
    },
    ...{ seal: '', borders: borders.map(to0x), receipts: [] },
    ...{ timings: {}, transactions: [] },
  };
}

const claim = async (nodeId: string, jobId?: string, who: 'operator' | 'otherOperator' = 'operator') =>
  test.send<{ task: ProofTask | null; left: number | null }>(
    pattern.proofAcquire,
    { nodeId, waitMs: 0, ...(jobId !== undefined && { jobId }) },
    who,
  );
const refOfTask = (nodeId: string, { jobId, index, fence }: ProofTask) => ({ nodeId, jobId, index, fence });

describe('a job without a TEE', () => {
  let job: Fixture;
  let grant: LeaseGrant;

  it('is offered to nodes without a TEE alone, and theirs are no others', async () => {
    job = await submitted();
    await expect(acquire(test, enclave)).rejects.toThrow('no job to lease');
    grant = await acquire(test, trainer);
    expect(grant.job.jobId).toBe(job.jobId);
    const plain = await submitFunded(test);
    await expect(acquire(test, trainer)).rejects.toThrow('no job to lease');
    const attested = await acquire(test, enclave);
    expect(attested.job.jobId).toBe(plain.jobId);
    expect(await codeOf(test.send(pattern.leaseEntrusted, refOf(attested)))).toBe('JOB_ASSURANCE');
  });

  it('goes on without evidence when the broker entrusts its node', async () => {
    await test.send(pattern.leaseEntrusted, refOf(grant));
    expect(await stateOf(test, job)).toMatchObject({ state: 'keyed' });
    await test.send(pattern.leaseRunning, refOf(grant));
    expect(await claim(prover, job.jobId)).toEqual({ task: null, elsewhere: null, left: 3 });
  });

  it('takes statements that wait for their proof, and no receipt of a node without a TEE', async () => {
    const report = { ...refOf(grant), step: 1, statement: statementOf(job, 0), blob: await storeBlob(test) };
    const { receipt } = await segment(job, 0);
    expect(await codeOf(test.send(pattern.leaseCheckpoint, { ...report, receipt }))).toBe('RECEIPT_KEY_UNKNOWN');
    await test.send(pattern.leaseCheckpoint, { ...report, receipt: '' });
  });

  it('cannot be delivered before it is proved', async () => {
    for (const index of [1, 2]) {
      const report = { step: index + 1, statement: statementOf(job, index), receipt: '', blob: await storeBlob(test) };
      await test.send(pattern.leaseCheckpoint, { ...refOf(grant), ...report });
    }
    const delivery = await wholeDelivery();
    expect(await codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery }))).toBe('DELIVERY_INCOMPLETE');
  });

  describe('has segments that', () => {
    /** The trainer is there all the while. */
    const pass = async (seconds: number): Promise<void> => {
      test.clock.pass(seconds);
      await test.send(pattern.nodeHeartbeat, { nodeId: trainer, leases: [refOf(grant)] });
    };
    let first: ProofTask;
    let second: ProofTask;

    it('are found behind many jobs that have nothing to prove', async () => {
      const { manager } = test.plane.database.dataSource;
      const { seq, ...row } = await manager.findOneByOrFail(Job, { id: job.jobId });
      const idle = Array.from({ length: 50 }, () => {
        const [id, escrowId] = [randomBytes(32), randomBytes(32)].map(to0x) as [string, string];
        return { ...row, id, escrowId, leaseId: null };
      });
      await manager.insert(Job, idle as object[]);
      await manager.update(Job, { id: job.jobId }, { seq: String(Number(seq) + 1000) });
      first = ProofTask.parse((await claim(prover)).task);
      await manager.delete(Job, { id: In(idle.map(({ id }) => id)) });
      expect(first).toMatchObject({ jobId: job.jobId, index: 0, fence: 1 });
    });

    it('are each claimed by one node, of whichever operator, and never by an enclave’s', async () => {
      expect((await claim(enclave, job.jobId)).task).toBeNull();
      second = ProofTask.parse((await claim(other, job.jobId, 'otherOperator')).task);
      expect([first, second].map(({ index, fence }) => [index, fence])).toEqual([
        [0, 1],
        [1, 1],
      ]);
      expect([first.checkpoint, second.statement]).toEqual([null, statementOf(job, 1)]);
      expect(second.checkpoint).toMatch(/^0x/);
    });

    it('can be counted without a claim', async () => {
      const question = { nodeId: trainer, waitMs: 0, jobId: job.jobId, countOnly: true };
      expect(await test.send(pattern.proofAcquire, question)).toEqual({ task: null, elsewhere: null, left: 3 });
    });

    it('let their prover read the checkpoint and the shards', async () => {
      await test.as('otherOperator').get(`/v1/blobs/${second.checkpoint!}`).expect(200);
      await test
        .as('otherOperator')
        .get(`/v1/datasets/${to0x(job.dataset.id)}/shards/0`)
        .expect(200);
    });

    it('stay with whoever tells progress, and go to the next when that ends', async () => {
      const progress = { phase: 'prove', percent: 45, etaSeconds: 3 };
      await pass(20);
      expect(await test.send(pattern.proofProgress, { ...refOfTask(prover, first), ...progress })).toEqual({
        held: true,
      });
      await pass(20);
      const taken = ProofTask.parse((await claim(trainer, job.jobId)).task);
      expect([taken.index, taken.fence]).toEqual([1, 2]);
      const late = { ...refOfTask(other, second), ...progress };
      expect(await test.send(pattern.proofProgress, late, 'otherOperator')).toEqual({ held: false });
      const delivery = { ...refOfTask(other, second), blob: await storeBlob(test), document: '{}' };
      expect(await codeOf(test.send(pattern.proofDeliver, delivery, 'otherOperator'))).toBe('LEASE_FENCED');
    });

    it('are free again when a prover gives them back', async () => {
      await test.send(pattern.proofFail, {
        ...refOfTask(prover, first),
        code: 'ZK_MEMORY_EXCEEDED',
        detail: 'too little',
      });
      await pass(1);
      const again = ProofTask.parse((await claim(prover, job.jobId)).task);
      expect([again.index, again.fence]).toEqual([0, 2]);
      first = again;
    });

    it.each<[string, string, object]>([
      ['a blob that nobody uploaded', 'BLOB_UNKNOWN', { blob: to0x(new Uint8Array(32)), document: '{}' }],
      ['no document', 'PROOF_STATEMENT', { document: 'not JSON' }],
      ['another document', 'PROOF_STATEMENT', { document: '{}' }],
    ])('are not proved by %s', async (_name, code, change) => {
      const delivery = { ...refOfTask(prover, first), blob: await storeBlob(test), ...change };
      expect(await codeOf(test.send(pattern.proofDeliver, delivery))).toBe(code);
      expect((await claim(prover, job.jobId)).left).toBe(3);
    });

    it('are taken again of the claim that brought the same proof, and of no other', async () => {
      const proof = { blob: await storeBlob(test), document: '{}' };
      const { manager } = test.plane.database.dataSource;
      const { jobId, index } = first;
      await manager.update(SegmentProof, { jobId, index }, { ...proof, doneAt: test.clock.now() });
      const deliver = async (change: object, who: 'operator' | 'otherOperator' = 'operator') =>
        codeOf(test.send(pattern.proofDeliver, { ...refOfTask(prover, first), ...proof, ...change }, who));
      expect(await deliver({})).toBe('ok');
      expect(await deliver({}, 'otherOperator')).toBe('NODE_UNKNOWN');
      expect(await deliver({ nodeId: other }, 'otherOperator')).toBe('LEASE_FENCED');
      expect(await deliver({ nodeId: trainer })).toBe('LEASE_FENCED');
      expect(await deliver({ fence: first.fence - 1 })).toBe('LEASE_FENCED');
      expect(await deliver({ blob: to0x(new Uint8Array(32)) })).toBe('BLOB_UNKNOWN');
      expect(await deliver({ document: 'not JSON' })).toBe('PROOF_STATEMENT');
      expect(await deliver({ document: '{}\u0000' })).toBe('PROOF_STATEMENT');
    });

    it('are claimed over by the provider that lacks them, and by nobody else', async () => {
      await pass(20);
      await pass(20);
      const foreign = ProofTask.parse((await claim(other, job.jobId, 'otherOperator')).task);
      expect([foreign.index, (await claim(prover, job.jobId)).task?.index]).toEqual([1, 2]);
      const insist = async (nodeId: string, holding: number[], who: 'operator' | 'otherOperator' = 'operator') => {
        const question = { nodeId, waitMs: 0, jobId: job.jobId, holding, insists: true };
        return (await test.send<{ task: ProofTask | null }>(pattern.proofAcquire, question, who)).task;
      };
      expect(await insist(other, [], 'otherOperator')).toBeNull();
      expect(await insist(trainer, [0, 1, 2])).toBeNull();
      expect(await insist(trainer, [1])).toMatchObject({ index: 0, fence: first.fence + 1 });
      expect(await insist(trainer, [0, 2])).toMatchObject({ index: 1, fence: foreign.fence + 1 });
      const progress = { phase: 'prove', percent: 0, etaSeconds: null };
      const told = { ...refOfTask(other, foreign), ...progress };
      expect(await test.send(pattern.proofProgress, told, 'otherOperator')).toEqual({ held: false });
      // What was proved stays so, whoever claims it once more.
      expect((await claim(other, job.jobId, 'otherOperator')).left).toBe(2);
    });

    it('are handed to the provider that lacks them, once proved', async () => {
      const bytes = new Uint8Array(randomBytes(64));
      const blob = to0x(sha256(bytes));
      await test.as('otherOperator').put(`/v1/blobs/${blob}`, bytes).expect(204);
      await test.as('operator').get(`/v1/blobs/${blob}`).expect(404);
      const { manager } = test.plane.database.dataSource;
      const proved = { blob, document: '{"of":1}', nodeId: other, doneAt: test.clock.now() };
      await manager.update(SegmentProof, { jobId: job.jobId, index: 1 }, proved);
      const ask = (nodeId: string, holding: number[], who: 'operator' | 'otherOperator' = 'operator') =>
        test.send(pattern.proofAcquire, { nodeId, waitMs: 0, jobId: job.jobId, holding }, who);
      expect(await ask(trainer, [0])).toMatchObject({
        task: null,
        elsewhere: { index: 1, blob, document: '{"of":1}' },
      });
      expect(await ask(trainer, [0, 1])).toMatchObject({ elsewhere: null });
      expect(await ask(other, [0], 'otherOperator')).toMatchObject({ elsewhere: null });
      await test.as('operator').get(`/v1/blobs/${blob}`).expect(200);
    });

    it('are kept by nobody longer than the terms give to a proof', async () => {
      await pass(40);
      const held = ProofTask.parse((await claim(other, job.jobId, 'otherOperator')).task);
      const tell = async (): Promise<unknown> => {
        const progress = { phase: 'load', percent: 0, etaSeconds: null };
        return test.send(pattern.proofProgress, { ...refOfTask(other, held), ...progress }, 'otherOperator');
      };
      for (let seconds = 0; seconds < 600; seconds += 20) {
        await pass(20);
        expect(await tell()).toEqual({ held: true });
      }
      await pass(20);
      expect(await tell()).toEqual({ held: false });
      await pass(20);
      expect((await claim(prover, job.jobId)).task).toMatchObject({ index: held.index, fence: held.fence + 1 });
    });

    it('are nobody’s when the job has ended', async () => {
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
      const progress = { phase: 'prove', percent: 45, etaSeconds: null };
      expect(await test.send(pattern.proofProgress, { ...refOfTask(prover, first), ...progress })).toEqual({
        held: false,
      });
      expect((await claim(prover)).task).toBeNull();
    });
  });
});

describe('a sampled job', () => {
  let job: Fixture;
  let grant: LeaseGrant;
  let drawn: number[];
  const seed = to0x(new Uint8Array(32).fill(3));
  const onChain = async (name: string, data: EscrowEvent['args']): Promise<void> => {
    test.chain.mine({ escrowId: job.escrowId, name, data });
    await confirm(test);
  };

  it('is refused under terms that draw nothing or too much, as is a draw of another job', async () => {
    const [sampled, full] = [provedJob(test.clock.at(), 'sampled'), provedJob(test.clock.at())];
    const most = 8 * sampled.terms.segments;
    for (const [code, { body, spec }, terms] of [
      ['JOB_ASSURANCE', sampled, { ...sampled.terms, mode: JobMode.full }],
      ['JOB_ASSURANCE', full, { ...full.terms, mode: JobMode.sample, samples: 2 }],
      ['JOB_SAMPLES', sampled, { ...sampled.terms, samples: most + 1 }],
    ] as const) {
      const mixed = { ...body, terms: termsJson({ ...terms, specDigest: specDigestOf(spec) }) };
      const { body: problem } = await test.as('client').post('/v1/jobs', mixed).expect(422);
      expect(problem.code).toBe(code);
    }
  });

  it('is offered to nodes without a TEE, and delivered before anything is proved', async () => {
    job = await submitted('sampled');
    const another = await test.send<LeaseGrant | null>(pattern.leaseAcquire, { nodeId: enclave, waitMs: 0 });
    expect(another?.job.jobId).not.toBe(job.jobId);
    grant = await acquire(test, trainer);
    expect(grant.job.jobId).toBe(job.jobId);
    await test.send(pattern.leaseEntrusted, refOf(grant));
    await test.send(pattern.leaseRunning, refOf(grant));
    for (const index of [0, 1, 2]) {
      const report = { step: index + 1, statement: statementOf(job, index), receipt: '', blob: await storeBlob(test) };
      await test.send(pattern.leaseCheckpoint, { ...refOf(grant), ...report });
    }
    expect(await claim(prover, job.jobId)).toEqual({ task: null, elsewhere: null, left: 0 });
    await test.send(pattern.leaseDeliver, { ...refOf(grant), ...(await wholeDelivery()) });
    expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
    await test.as('client').get(`/v1/jobs/${job.jobId}/bundle`).expect(409);
  });

  it('has proofs to make once it is drawn, of what was drawn', async () => {
    await onChain('JobCommitted', { delivery: seed, borders: [seed, seed, seed, seed] });
    expect((await claim(prover)).task).toBeNull();
    await onChain('SampleDrawn', { seed, fromBlock: false, deadline: '1' });
    drawn = [...new Set(sampleOf(seed, 2, 3))].sort((a, b) => a - b);
    const claimed: number[] = [];
    for (;;) {
      const { task, left } = await claim(prover, job.jobId);
      expect(left).toBe(drawn.length);
      if (task === null) break;
      claimed.push(task.index);
    }
    expect(claimed).toEqual(drawn);
  });

  it('is disputed when the proofs do not come, and says which', async () => {
    const ended = { state: '10', toProvider: '0', toClient: '1', toChallenger: '0', burnt: '1' };
    await onChain('DutyDischarged', { segment: String(drawn[0]) });
    await onChain('JobEnded', ended);
    const view = await stateOf(test, job);
    expect(view).toMatchObject({ state: 'disputed', code: 'ESCROW_SLASHED', reason: { unproved: drawn.slice(1) } });
    expect((await claim(prover)).task).toBeNull();
  });
});
