/** Several sessions signed steps of one job, or one hands over what another has sealed: the bundle shows whom the seal names. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentDigest, encodeDocument, verifyBundle } from '#attestation';
import { fromHex, signRecoverable, to0x, toBase64 } from '#attestation/base';
import { domainSeparator, parseSessionEvidence, runDigest, runKeysDigest, teeSelector } from '#attestation/records';
import { pattern, type LeaseGrant } from '#libs/wire';
import { gpuPolicy } from '#test/made-machine';
import { addressOf, chainId, contract, madeSession, noEndorsements, receiptSecret, sha256 } from '#test/made-session';
import type { EvidenceVerdict } from '../src/evidence/evidence-appraiser.js';
import { PolicyAppraiser } from '../src/evidence/policy-appraiser.js';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  confirm,
  deliveryOf,
  keyReleaseTo,
  provider,
  providers,
  refOf,
  register,
  segment,
  segmentSteps,
  stateOf,
  storeBlob,
  submitFunded,
  type Fixture,
} from './job-fixture.js';

/** Accepts every session, under its own keys. */
class OwnKeys extends PolicyAppraiser {
  override async appraise({ evidence }: { evidence: Uint8Array }): Promise<EvidenceVerdict> {
    const { receiptKey } = parseSessionEvidence(new Uint8Array(evidence)).binding;
    return { tier: 'affirming', checks: [], receiptKey, devices: [] };
  }
}

let test: TestPlane;
let nodeId: string;
beforeAll(async () => {
  test = await startTestPlane({}, { appraiser: new OwnKeys() });
  nodeId = await register(test);
});
afterAll(() => test?.stop());

interface Session {
  readonly account: Uint8Array;
  readonly receiptSecret: Uint8Array;
  readonly evidence: Uint8Array;
}

async function sessionOf(name: string): Promise<Session> {
  const own = { account: sha256(`${name}: account`), receiptSecret: sha256(`${name}: receipts`) };
  const keys = { settlementKey: addressOf(own.account), receiptSecret: own.receiptSecret };
  return { ...own, evidence: (await madeSession(provider, keys)).evidence };
}
const [first, second, third] = (await Promise.all(['first', 'second', 'third'].map(sessionOf))) as [
  Session,
  Session,
  Session,
];

const submitted = () =>
  submitFunded(test, {
    policy: encodeDocument(gpuPolicy),
    spec: { policyDigest: fromHex(documentDigest(gpuPolicy)) },
  });

async function attested({ evidence }: Session): Promise<LeaseGrant> {
  const grant = await acquire(test, nodeId);
  const shown = { evidence: toBase64(evidence), endorsements: noEndorsements };
  await test.send(pattern.leaseAttested, { ...refOf(grant), ...shown });
  return grant;
}

/** A lease of this session, which has the data key. */
async function taken(job: Fixture, session: Session): Promise<LeaseGrant> {
  const grant = await attested(session);
  const release = keyReleaseTo(job, { evidence: session.evidence, notAfter: 1_800_000_000 });
  await test.send(pattern.leaseKeyed, { ...refOf(grant), release });
  await test.send(pattern.leaseRunning, refOf(grant));
  return grant;
}

const signedBy = (job: Fixture, { receiptSecret: secret }: Session, index: number) => segment(job, index, {}, secret);

async function reported(job: Fixture, grant: LeaseGrant, session: Session, index: number): Promise<void> {
  const told = { step: (index + 1) * segmentSteps, blob: await storeBlob(test) };
  await test.send(pattern.leaseCheckpoint, { ...refOf(grant), ...told, ...(await signedBy(job, session, index)) });
}

async function loseLease(): Promise<void> {
  test.clock.pass(31);
  await test.sweep();
}

type Delivery = Awaited<ReturnType<typeof deliveryOf>>;

/** What a session hands over: sealed by it, with its receipts over these segments, over borders that these sessions stand behind. */
async function sealed(
  job: Fixture,
  sealer: Session,
  segments: readonly number[],
  behind = [sealer],
): Promise<Delivery> {
  const made = await deliveryOf(test, job, []);
  const run = { ...made.run, keys: to0x(runKeysDigest(behind.map(({ account }) => addressOf(account)))) };
  const { upTo, bordersRoot, last, delivery, keys } = run;
  const words = {
    ...{ bordersRoot: fromHex(bordersRoot), last: fromHex(last) },
    ...{ delivery: fromHex(delivery), keys: fromHex(keys) },
  };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const digest = runDigest(domain, { job: fromHex(job.escrowId), upTo, outcome: 0, ...words });
  const seal = toBase64(new Uint8Array([...teeSelector, ...signRecoverable(digest, sealer.account)]));
  const receipts = await Promise.all(segments.map((index) => signedBy(job, sealer, index)));
  return { ...made, run, seal, receipts };
}

const deliver = (grant: LeaseGrant, delivery: Delivery) =>
  codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery }));

async function committed({ escrowId }: Fixture, { run: { delivery } }: Delivery): Promise<void> {
  const borders = Array.from({ length: 4 }, () => delivery);
  test.chain.mine(
    { escrowId, name: 'JobAccepted', data: { provider: providers.operator } },
    { escrowId, name: 'JobStarted', data: {} },
    { escrowId, name: 'JobCommitted', data: { borders, delivery } },
  );
  await confirm(test);
}

const ofRun = ['BUNDLE_RECEIPTS', 'BUNDLE_CHAIN', 'BUNDLE_RUN', 'BUNDLE_SEAL'];

/** What of the run does not hold in the job's bundle, by code. */
async function unmet({ jobId }: Fixture): Promise<string[]> {
  const { body } = await test.as('client').get(`/v1/jobs/${jobId}/bundle`).expect(200);
  const { checks } = await verifyBundle({ bundle: new Uint8Array(body as Buffer) });
  const run = checks.filter(({ code }) => ofRun.includes(code));
  expect(run).toHaveLength(ofRun.length);
  return run.flatMap(({ code, status, got }) => (status === 'met' ? [] : [`${code} ${got}`]));
}

/** The first session has reported segment 0 and is not heard of any more. */
async function abandoned(): Promise<{ job: Fixture; grant: LeaseGrant }> {
  const job = await submitted();
  const grant = await taken(job, first);
  await reported(job, grant, first, 0);
  await loseLease();
  return { job, grant };
}

describe('the bundle of a job', () => {
  it('that a second session goes on with shows the receipts of both', async () => {
    const { job } = await abandoned();
    const grant = await taken(job, second);
    await reported(job, grant, second, 1);
    expect(await deliver(grant, await sealed(job, second, [2], [first, second]))).toBe('ok');
    expect(await unmet(job)).toEqual([]);
  });

  it('whose first session the chain has shows its receipts, also where another session has reported the same steps', async () => {
    const { job, grant } = await abandoned();
    await reported(job, await taken(job, second), second, 1);
    const delivery = await sealed(job, first, [1, 2]);
    await committed(job, delivery);
    expect(await deliver(grant, delivery)).toBe('ok');
    expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
    expect(await unmet(job)).toEqual([]);
  });

  it('whose host came back with the result of a session before shows the receipts of that one', async () => {
    const { job } = await abandoned();
    const grant = await taken(job, second);
    expect(await deliver(grant, await sealed(job, first, [0, 1, 2]))).toBe('ok');
    expect(await unmet(job)).toEqual([]);
  });

  it('the same where a third session has worked on it meanwhile', async () => {
    const { job } = await abandoned();
    await reported(job, await taken(job, third), third, 1);
    await loseLease();
    const grant = await taken(job, second);
    expect(await deliver(grant, await sealed(job, first, [0, 1, 2]))).toBe('ok');
    expect(await unmet(job)).toEqual([]);
  });
});

describe('receipts of another session than the lease’s are refused', () => {
  it('in a checkpoint, and in a delivery where that session was never given the job', async () => {
    const job = await submitted();
    await attested(third);
    await loseLease();
    const grant = await taken(job, second);
    await expect(reported(job, grant, third, 0)).rejects.toMatchObject({ code: 'COSE_KEY_ID' });
    expect(await deliver(grant, await sealed(job, third, [0, 1, 2]))).toBe('COSE_KEY_ID');
    const unknown = { account: first.account, evidence: first.evidence, receiptSecret };
    expect(await deliver(grant, await sealed(job, unknown, [0, 1, 2]))).toBe('COSE_KEY_ID');
    expect(await deliver(grant, await sealed(job, second, [0, 1, 2]))).toBe('ok');
    expect(await unmet(job)).toEqual([]);
  });
});
