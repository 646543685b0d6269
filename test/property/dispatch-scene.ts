/** Jobs of one node in every state, and for each dispatch message one that fits: what a dispatch frame can be made of. */
import { parseSessionEvidence, verifySessionProof } from '#attestation/records';
import { pattern, type LeaseGrant, type Pattern } from '#libs/wire';
import type { EvidenceVerdict } from '../../apps/control-plane/src/evidence/evidence-appraiser.js';
import { keys, TestAppraiser, type TestPlane } from '../../apps/control-plane/test/harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  deliveryOf,
  keyRelease,
  providers,
  refOf,
  register,
  renewalOf,
  segment,
  segmentSteps,
  shown,
  storeBlob,
  submitFunded,
  type Fixture,
} from '../../apps/control-plane/test/job-fixture.js';

export interface DispatchMessage {
  readonly pattern: Pattern;
  readonly data: Readonly<Record<string, unknown>>;
  /** Members, or paths to them, whose every change must be refused: keys, claims, and what is signed. */
  readonly bound: readonly string[];
}

/** Takes evidence that its session signed and that does not say `refused`. */
export class ProofAppraiser extends TestAppraiser {
  override appraise(request: { evidence: Uint8Array }): Promise<EvidenceVerdict> {
    verifySessionProof(parseSessionEvidence(new Uint8Array(request.evidence)));
    return super.appraise(request);
  }
}

interface Held {
  readonly job: Fixture;
  readonly grant: LeaseGrant;
}

const claim = ['auth', 'leaseId', 'fence'];
/** The sessions' keys are for the chain to judge, with the seal. */
const judgedOfRun = ['upTo', 'outcome', 'bordersRoot', 'last', 'delivery'].map((name) => `run.${name}`);
const word = `0x${'5e'.repeat(32)}`;

/** Makes a message that fits, with a job of its own where it is about one. */
export interface MessageMaker {
  readonly pattern: Pattern;
  make(): Promise<DispatchMessage>;
}

const maker = (name: Pattern, make: MessageMaker['make']): MessageMaker => ({ pattern: name, make });

export async function dispatchMakers(test: TestPlane): Promise<readonly MessageMaker[]> {
  const nodeId = await register(test);
  const held = async (state: 'attested' | 'keyed' | 'running' | null): Promise<Held> => {
    const job = await submitFunded(test);
    let grant = await acquire(test, nodeId);
    // What a mutant gave back is in the queue before it.
    while (grant.job.jobId !== job.jobId) grant = await acquire(test, nodeId);
    if (state !== null) await advanceTo(test, grant, state);
    return { job, grant };
  };
  const of = (name: Pattern, { grant }: Held, data: object = {}, bound: readonly string[] = []): DispatchMessage => ({
    pattern: name,
    data: { auth: keys.operator, ...refOf(grant), ...data },
    bound: [...claim, ...bound],
  });
  return [
    ...reportMakers(test, held, of),
    ...trainingMakers(test, held, of),
    ...questions(nodeId, await held('running')).map((message) =>
      maker(message.pattern, () => Promise.resolve(message)),
    ),
  ];
}

type Hold = (state: 'attested' | 'keyed' | 'running' | null) => Promise<Held>;
type MessageOf = (name: Pattern, held: Held, data?: object, bound?: readonly string[]) => DispatchMessage;

function reportMakers(test: TestPlane, held: Hold, of: MessageOf): readonly MessageMaker[] {
  const failure = { code: 'TEST_FAILURE', detail: 'a failure', retry: true };
  const renewed = ['evidence', 'lease', 'result', 'resultSignature'];
  return [
    maker(pattern.leaseAttested, async () => of(pattern.leaseAttested, await held(null), shown, ['evidence'])),
    maker(pattern.leaseKeyed, async () => {
      const attested = await held('attested');
      return of(pattern.leaseKeyed, attested, { release: keyRelease(attested.job) }, ['release']);
    }),
    maker(pattern.leaseRenewed, async () => {
      const running = await held('running');
      const renewal = await renewalOf(running.job, { notAfter: test.clock.at() + 100 });
      return of(pattern.leaseRenewed, running, renewal, renewed);
    }),
    maker(pattern.leaseEntrusted, async () => of(pattern.leaseEntrusted, await held(null))),
    maker(pattern.leaseRunning, async () => of(pattern.leaseRunning, await held('keyed'))),
    maker(pattern.leaseFail, async () => of(pattern.leaseFail, await held(null), failure)),
  ];
}

function trainingMakers(test: TestPlane, held: Hold, of: MessageOf): readonly MessageMaker[] {
  const progress = { step: 1, of: 6, loss: 0.5, accuracy: 0.25, samplesPerSecond: 10 };
  return [
    maker(pattern.leaseProgress, async () => of(pattern.leaseProgress, await held('running'), progress)),
    maker(pattern.leaseCheckpoint, async () => {
      const running = await held('running');
      const reached = { step: segmentSteps, ...(await segment(running.job, 0)), blob: await storeBlob(test) };
      return of(pattern.leaseCheckpoint, running, reached, ['step', 'statement', 'receipt']);
    }),
    maker(pattern.leaseDeliver, async () => {
      const ending = await held('running');
      const delivery = await deliveryOf(test, ending.job, [0, 1, 2]);
      return of(pattern.leaseDeliver, ending, delivery, ['borders', 'receipts', ...judgedOfRun]);
    }),
  ];
}

/** About a node itself, and about segments, proofs and leases that there are not: all but questions are refused. */
function questions(nodeId: string, { job, grant }: Held): readonly DispatchMessage[] {
  const { jobId } = job;
  const task = { nodeId, jobId, index: 0, fence: 1 };
  const said = { statement: 'AAAA', receipt: 'AAAA' };
  const failure = { code: 'TEST_FAILURE', detail: 'a failure' };
  const about = (name: Pattern, data: object): DispatchMessage => ({
    pattern: name,
    data: { auth: keys.operator, ...data },
    bound: ['auth'],
  });
  const lost = { ...refOf(grant), jobId, nodeId, delivery: word, ...shown, release: keyRelease(job) };
  return [
    about(pattern.nodeRegister, { name: 'fuzzed', provider: providers.operator, capabilities, protocol: 2 }),
    about(pattern.nodeHeartbeat, { nodeId, leases: [refOf(grant)] }),
    about(pattern.leaseAcquire, { nodeId, waitMs: 0, holding: [grant.leaseId] }),
    about(pattern.leaseRestore, lost),
    about(pattern.segmentAcquire, { nodeId, waitMs: 0, jobId, leads: true }),
    about(pattern.segmentJoin, { nodeId, jobId, ...shown, release: keyRelease(job) }),
    about(pattern.segmentProgress, { ...task, step: 1 }),
    about(pattern.segmentDeliver, { ...task, workerId: nodeId, ...said, blob: word }),
    about(pattern.segmentFail, { ...task, ...failure }),
    about(pattern.proofAcquire, { nodeId, waitMs: 0, jobId, countOnly: true }),
    about(pattern.proofProgress, { ...task, phase: 'prove', percent: 5, etaSeconds: null }),
    about(pattern.proofDeliver, { ...task, blob: word, document: '{}' }),
    about(pattern.proofFail, { ...task, ...failure }),
  ];
}
