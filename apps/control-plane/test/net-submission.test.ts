/** What is refused of a submitted job of `fxt/2`. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import type { JobSpec } from '#attestation/records';
import { tableNet } from '#test/net-job';
import { checkNet } from '../src/jobs/net-submission.js';
import { netOpNames, type NetManifest } from '#libs/step';
import { pattern } from '#libs/wire';
import { startTestPlane, type TestPlane } from './harness.js';
import { acquire, capabilities, fund, providers, register, sha256 } from './job-fixture.js';
import { netFixture } from './net-fixture.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane({});
});
afterAll(async () => test.stop());

const word = new Uint8Array(32).fill(7);

async function answer(...changes: [Partial<JobSpec>?, Parameters<typeof netFixture>[2]?, NetManifest?]) {
  const { body } = await netFixture(test, ...changes);
  const { status, body: said } = await test.as('client').post('/v1/jobs', body);
  return { status, ...(said as { code?: string; expected?: string; got?: string }) };
}

describe('a job of fxt 2', () => {
  it('is taken with its data set of layout 2', async () => {
    expect(await answer()).toMatchObject({ status: 201 });
  });

  it('says why no node fits, when it is submitted and while it waits', async () => {
    const submitted = async () => {
      const { body } = await netFixture(test);
      return (await test.as('client').post('/v1/jobs', body).expect(201)).body as {
        id: string;
        unplaced: string | null;
      };
    };
    expect(await submitted()).toMatchObject({ unplaced: 'no node is online' });
    await register(test);
    const waiting = await submitted();
    expect(waiting.unplaced).toBe('of 1 nodes online none trains fxt 2');
    const nets = { ...capabilities, fxt: [1, 2], ops: [...netOpNames] };
    await test.send(
      pattern.nodeRegister,
      { name: 'net', provider: providers.operator, capabilities: nets },
      'operator',
    );
    const { body } = await test.as('client').get(`/v1/jobs/${waiting.id}`).expect(200);
    expect(body).toMatchObject({ state: 'submitted', unplaced: null });
  });

  it('whose steps are to be proved is refused with what has no proof: JOB_SCHEME', async () => {
    const proving = { profile: 'fast16', variant: 'separate' as const, planDigest: word };
    const { spec } = await netFixture(test);
    const proved = { ...spec, assurance: 'tee+zk' as const, scheme: 'fxt-zk/1' as const, proving };
    expect(() => checkNet(proved, tableNet())).toThrow(/JOB_SCHEME.*: a dense layer of fxt 2/s);
  });

  const validation = { root: word, records: 16 };
  it.each<[string, Parameters<typeof answer>]>([
    ['another validation set', [{ validation }]],
    ['fewer records to validate on', [{}, (m) => ({ ...m, validation: { ...m.validation!, batch: 2 } })]],
    ['no validation set', [{}, (m) => ({ ...m, validation: null })]],
    [
      'another header',
      [{}, (m) => ({ ...m, header: { ...m.header, label: { kind: 'class', classes: 3, columns: [] } } })],
    ],
    ['a header that is none', [{}, (m) => ({ ...m, header: {} })]],
    ['another batch', [{}, (m) => ({ ...m, batch: 2, superblock: 4 })]],
  ])('with %s in its data set is refused: JOB_DATASET_MISMATCH', async (_, changes) => {
    expect(await answer(...changes)).toMatchObject({ status: 422, code: 'JOB_DATASET_MISMATCH' });
  });
});

describe('a job whose state is too large to be carried', () => {
  /** 225,000 · 4 + 225,000 + 225,000 · 2 + 2 parameters, and as many numbers of the momentum. */
  const wide = tableNet({ layers: [{ op: 'dense', out: 225_000 }, { op: 'relu' }, { op: 'dense', out: 2 }] });

  it('is refused for several workers with limit, size and what to do, and taken for one: JOB_SIZE', async () => {
    expect(await answer({ parallel: 2, segmentSteps: 1 }, undefined, wide)).toMatchObject({
      ...{ status: 422, code: 'JOB_SIZE' },
      expected: 'a state of at most 11272192 bytes in a job of 2 workers',
      got: '25200032 bytes: 3150004 weights and numbers of the optimizer, 8 bytes each',
      action: 'submit a smaller net, or the job to one enclave without proofs, which carries 536870912 bytes',
    });
    expect(await answer({}, undefined, wide)).toMatchObject({ status: 201 });
  });
});

describe('a job of fxt 2 that starts from weights', () => {
  /** 4 × 8 + 8 + 8 × 2 + 2 parameters of 8 bytes. */
  const size = 8 * 58;
  const net = tableNet({ start: { kind: 'weights', root: `0x${'07'.repeat(32)}` } });

  async function uploaded(bytes: number): Promise<string> {
    const part = new Uint8Array(randomBytes(bytes));
    const name = to0x(sha256(part));
    await test.as('client').put(`/v1/blobs/${name}`, part).expect(204);
    return name;
  }

  async function submitted(start: readonly string[] | undefined, of = net) {
    const job = await netFixture(test, {}, undefined, of);
    const body = { ...job.body, ...(start !== undefined && { start }) };
    const { status, body: said } = await test.as('client').post('/v1/jobs', body);
    return { job, answer: { status, ...(said as { code?: string; expected?: string; got?: string }) } };
  }

  it('names its parts in order to whoever has the lease, who alone may read them', async () => {
    const start = [await uploaded(size - 100), await uploaded(100)];
    const { job, answer: taken } = await submitted(start);
    expect(taken).toMatchObject({ status: 201 });
    await fund(test, job);
    const read = (who: 'operator' | 'otherOperator') => test.as(who).get(`/v1/blobs/${start[0]!}`);
    await read('operator').expect(404);
    const able = { ...capabilities, fxt: [1, 2], ops: ['dense', 'relu'] };
    const node = { name: 'starts', provider: providers.operator, capabilities: able };
    const registered = async (of: object) =>
      (await test.send<{ nodeId: string }>(pattern.nodeRegister, of, 'operator')).nodeId;
    // A node of a release before there were start weights would train from others.
    const former = await registered(node);
    expect(await test.send(pattern.leaseAcquire, { nodeId: former, waitMs: 0 }, 'operator')).toBeNull();
    const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200);
    expect(body.requirements).toEqual({ fxt: 2, ops: ['dense', 'relu'], start: true });
    expect(body.unplaced).toMatch(/^of \d nodes online none starts a job from uploaded weights$/);
    const nodeId = await registered({ ...node, name: 'starts too', capabilities: { ...able, start: true } });
    const grant = await acquire(test, nodeId);
    expect(grant.job).toMatchObject({ jobId: job.jobId, start });
    await read('operator').expect(200);
    await read('otherOperator').expect(404);
  });

  it.each<[string, () => Promise<readonly string[] | undefined>]>([
    ['no parts', () => Promise.resolve(undefined)],
    ['a part that nobody uploaded', async () => [await uploaded(size - 100), to0x(word)]],
    ['too few bytes', async () => [await uploaded(size - 8)]],
    ['too many bytes', async () => [await uploaded(size), await uploaded(8)]],
  ])('is refused with %s: JOB_START', async (_, parts) => {
    expect((await submitted(await parts())).answer).toMatchObject({ status: 422, code: 'JOB_START' });
  });

  it('is refused with parts where its seed draws them: JOB_START', async () => {
    const { answer: refused } = await submitted([await uploaded(size)], tableNet());
    expect(refused).toMatchObject({
      status: 422,
      code: 'JOB_START',
      expected: expect.stringContaining('seed') as unknown,
    });
  });
});
