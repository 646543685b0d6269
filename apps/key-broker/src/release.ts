/**
 * The broker's decision: may this enclave session have this data set's key for this job, and may it keep it? Everything
 * is refused unless every check holds; what is handed out is sealed to the session that was appraised, and named in a
 * Release that enclave and contract demand.
 */
import { createHash } from 'node:crypto';
import { signRecoverable, to0x, type Digest } from '#attestation/base';
import {
  domainSeparator,
  keyReleaseAad,
  leaseDigest,
  releaseDigest,
  type BundledEntry,
  type Lease,
  type Release,
  type Terms,
} from '#attestation/records';
import { sealDataKey } from '#libs/sealing';
import { traced } from '#libs/telemetry';
import { accountOf, authoriseJob, checkSession, refused, releasable, requireEscrow } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { liveStates } from './escrow.js';
import { checkRelease, logAndRecord } from './journal.js';
import {
  decideOnEvidence,
  judgeAgain,
  judgeSession,
  type Asked,
  type EvidenceRequest,
  type Judged,
  type JudgeParts,
  type VouchedResult,
} from './judge.js';

export interface Released {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  /** The broker's account signs it over the Release in the escrow's domain, 65 bytes. */
  readonly releaseSignature: Uint8Array;
  readonly result: VouchedResult;
  /** What the log has of it, where the data owner demands a log. */
  readonly logged?: readonly BundledEntry[];
}

interface Renewed {
  readonly lease: Lease;
  readonly leaseSignature: Uint8Array;
  readonly result: VouchedResult;
}

export interface Broker {
  /** Account that signs releases and leases, 20 bytes. */
  readonly account: Uint8Array;
  /**
   * @throws Rejection with the failed check's code; CollateralError when material for a verdict, the chain, or a log that
   *   the owner demands is missing
   */
  release(request: EvidenceRequest, at: number): Promise<Released>;
  /**
   * Prolongs what a session has.
   * @throws as `release`; Rejection BROKER_SESSION_ENDED, BROKER_SESSION_UNKNOWN, BROKER_SESSION_LAPSED,
   *   BROKER_SESSION_SUPERSEDED
   */
  renew(request: EvidenceRequest, at: number): Promise<Renewed>;
}

export interface BrokerParts extends JudgeParts {
  readonly config: BrokerConfig;
}

export function createBroker(parts: BrokerParts): Broker {
  const told = <T>(what: string, request: EvidenceRequest, at: number, judge: Decision<T>): Promise<T> =>
    decideOnEvidence(parts, request, at, (asked, issuedAt) =>
      traced(what, to0x(asked.jobId), () => judge(asked, issuedAt)),
    );
  const seen: SeenTerms = new Map();
  return {
    account: accountOf(parts.config),
    release: async (request, at) =>
      told('release', request, at, (asked, issuedAt) => release(parts, seen, asked, issuedAt)),
    renew: async (request, at) => told('renew', request, at, (asked, issuedAt) => renew(parts, asked, issuedAt)),
  };
}

type Decision<T> = (asked: Asked, issuedAt: number) => Promise<T>;

/** Terms of escrows that keys were released for since the start, by their digest. */
type SeenTerms = Map<string, Terms>;

async function release(parts: BrokerParts, seen: SeenTerms, asked: Asked, issuedAt: number): Promise<Released> {
  const { config, sessions, journal, heads } = parts;
  const { spec, evidence, jobId, job, session, at } = asked;
  const { binding } = evidence;
  await heads.compare(at);
  sessions.checkOpen(session);
  const key = authorise(config, asked);
  const judged = await judgeSession(parts, asked, issuedAt);
  await requireEscrow(config, asked.terms, releasable);
  const sealedKey = await sealDataKey(
    { datasetId: spec.dataset.id, key },
    { jobId, aad: keyReleaseAad(binding, job) },
    binding.transportKey,
  );
  const over = await jobsOver(parts, seen, asked);
  const released: Release = {
    ...leaseOf(asked, judged),
    provider: binding.provider,
    dataset: spec.dataset.id,
    key: binding.settlementKey,
    grant: new Uint8Array(createHash('sha256').update(sealedKey).digest()),
  };
  const { machine, tier } = judged.result;
  const { notAfter, provider } = released;
  const ids = { job: to0x(job), key: to0x(released.key), session: to0x(session), provider: to0x(provider) };
  const policy = to0x(released.policy);
  const more = { ...ids, policy, notAfter, tier, machine, evidence: to0x(released.evidence) };
  const checkAgain = (): void => {
    judgeAgain(parts, asked, judged);
    requireRoom(parts, asked, over);
    checkRelease(journal, config, { datasetId: spec.dataset.id, jobId });
  };
  // Before it is logged, since nobody takes an entry back; and after, since others were judged meanwhile.
  checkAgain();
  const { log } = config;
  const enter = log && ((announce: (entry: Uint8Array) => void) => log.enter(released, key, at, announce));
  const about = { datasetId: spec.dataset.id, jobId, more, checkAgain, ...(enter && { enter }) };
  const logged = await logAndRecord(journal, config, at, about);
  sessions.supersede({ session, provider }, machine, at);
  seen.set(ids.job, asked.terms);
  const releaseSignature = signed(config, (domain) => releaseDigest(domain, released));
  return { sealedKey, release: released, releaseSignature, result: judged.result, ...(logged && { logged }) };
}

async function renew(parts: BrokerParts, asked: Asked, issuedAt: number): Promise<Renewed> {
  const { config, sessions, journal, heads } = parts;
  const { job, jobId, session, at } = asked;
  heads.check();
  sessions.checkHeld(asked, at);
  authorise(config, asked);
  const judged = await judgeSession(parts, asked, issuedAt);
  await requireEscrow(config, asked.terms, releasable);
  const lease = leaseOf(asked, judged);
  judgeAgain(parts, asked, judged);
  sessions.checkHeld(asked, at);
  const ids = { jobId: to0x(jobId), job: to0x(job), session: to0x(session) };
  journal.append({ at, decision: 'renewed', ...ids, notAfter: lease.notAfter, tier: judged.result.tier });
  return { lease, leaseSignature: signed(config, (domain) => leaseDigest(domain, lease)), result: judged.result };
}

/** Before the appraisal, which costs most: strangers' jobs end here. A prover's request tells a stranger the same. */
function authorise(config: BrokerConfig, asked: Asked): Uint8Array {
  const key = authoriseJob(config, asked);
  checkSession(config, asked);
  return key;
}

/**
 * Jobs of the session whose runs are committed, looked up where it has as many as it may; one of before the start of
 * this process counts until the session may be relied on no more.
 */
async function jobsOver({ config, sessions }: BrokerParts, seen: SeenTerms, on: Asked): Promise<ReadonlySet<string>> {
  const { escrow, jobsPerSession } = config;
  const others = sessions.otherJobs(on, on.at);
  if (others.length < jobsPerSession) return new Set();
  const isOver = async (terms: Terms | undefined): Promise<boolean> =>
    terms !== undefined && !liveStates.includes((await escrow.stateOf(terms)).latest);
  const over = await Promise.all(others.map((job) => isOver(seen.get(job))));
  return new Set(others.filter((_, index) => over[index]));
}

/** @throws Rejection BROKER_SESSION_JOBS while the session works on as many others as the owner lets it */
function requireRoom({ config, sessions }: BrokerParts, on: Asked, over: ReadonlySet<string>): void {
  const { jobsPerSession } = config;
  const live = sessions.otherJobs(on, on.at).filter((job) => !over.has(job)).length;
  if (live < jobsPerSession) return;
  throw refused('BROKER_SESSION_JOBS', `fewer than ${jobsPerSession} live jobs of this session`, `${live}`);
}

function leaseOf({ job, session, spec, evidence, at }: Asked, judged: Judged): Lease {
  return {
    ...{ job, session, policy: spec.policyDigest, evidence: judged.evidence },
    ...{ nonce: evidence.nonce, grantedAt: at, notAfter: judged.notAfter },
  };
}

function signed({ settlement, signingSecret }: BrokerConfig, digestIn: (domain: Digest) => Digest): Uint8Array {
  const { chainId, contract } = settlement;
  return signRecoverable(digestIn(domainSeparator({ chainId, verifyingContract: contract })), signingSecret);
}
