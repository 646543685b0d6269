/**
 * The broker's decision: may this enclave session have this data set's key for this job, and may it keep it? Everything
 * is refused unless every check holds; what is handed out is sealed to the session that was appraised.
 */
import {
  decodeTerms,
  domainSeparator,
  enclaveKeyWord,
  jobDigest,
  jobIdOf,
  keccak,
  keysDigest,
  parseJobSpec,
  parseSessionEvidence,
  releaseDigest,
  sessionLeaseDigest,
  signRecoverable,
  toHex,
  type Release,
} from '#attestation';
import { traced } from '#libs/telemetry';
import { brokerAccount } from './authorise.js';
import { decide } from './decide.js';
import { recordRelease, recordRenewal } from './journal.js';
import { judgeSession, type Appraised, type Asked, type JudgeParts } from './judge.js';
import type { NonceBook } from './nonces.js';
import { sealGrant } from './seal-key.js';

export interface ReleaseRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly evidence: Uint8Array;
}

export interface Released extends Appraised {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
}

export interface Renewed extends Appraised {
  /** By the broker's account over sessionLeaseDigest, 65 bytes: what the enclave goes on with. */
  readonly leaseSignature: Uint8Array;
}

export interface Broker {
  /** Account that signs releases, appraisals and leases, 20 bytes. */
  readonly account: Uint8Array;
  /** @throws Rejection with the failed check's code; CollateralError when material for a verdict, or the chain, is missing */
  release(request: ReleaseRequest, at: number): Promise<Released>;
  /**
   * Prolongs what a session has; the first renewal that is refused ends the session for good.
   * @throws as `release`; Rejection BROKER_SESSION_ENDED, BROKER_SESSION_UNKNOWN, BROKER_SESSION_LAPSED
   */
  renew(request: ReleaseRequest, at: number): Promise<Renewed>;
}

export interface BrokerParts extends JudgeParts {
  readonly nonces: NonceBook;
}

export function createBroker(parts: BrokerParts): Broker {
  const { config, nonces, sessions } = parts;
  const account = brokerAccount(config);
  const { chainId, contract } = config.settlement;
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const sign = (digest: Uint8Array): Uint8Array => signRecoverable(digest, config.signingSecret);

  async function release(asked: Asked, issuedAt: number, at: number): Promise<Released> {
    const { spec, terms, evidence, jobId, session } = asked;
    const { binding } = evidence;
    const { key, appraised } = await judgeSession(parts, asked, issuedAt, at);
    const { appraisal, lease, result } = appraised;
    const grant = { datasetId: spec.dataset.id, key, broker: account, lease };
    const sealedKey = await sealGrant(grant, jobId, binding);
    const released: Release = {
      job: jobDigest(terms),
      enclaveKey: enclaveKeyWord(binding.settlementKey),
      shardsDigest: keccak(spec.dataset.root),
    };
    const held = { session: hex(session), notAfter: lease.notAfter };
    const more = { job: hex(released.job), key: hex(appraisal.key), tier: result.tier, ...held };
    recordRelease(config, at, { datasetId: spec.dataset.id, jobId, more });
    sessions.hold({ session, jobId }, lease.notAfter);
    const releaseSignature = sign(releaseDigest(domain, released));
    return { ...appraised, sealedKey, release: released, releaseSignature };
  }

  async function renew(asked: Asked, issuedAt: number, at: number): Promise<Renewed> {
    const { evidence, jobId, session } = asked;
    sessions.checkHeld({ session, jobId }, at);
    const { appraised } = await judgeSession(parts, asked, issuedAt, at);
    const { lease, result } = appraised;
    recordRenewal(config, at, { jobId, session, notAfter: lease.notAfter, tier: result.tier });
    sessions.hold({ session, jobId }, lease.notAfter);
    return { ...appraised, leaseSignature: sign(sessionLeaseDigest(jobId, evidence.binding, lease)) };
  }

  function decided<T>(
    what: string,
    request: ReleaseRequest,
    at: number,
    judged: (asked: Asked, issuedAt: number, at: number) => Promise<T>,
  ): Promise<T> {
    const asked = read(request);
    const { evidence, jobId } = asked;
    return traced(what, hex(jobId), () =>
      decide({ config, nonces, nonce: evidence.nonce, jobId, at }, (issuedAt) => judged(asked, issuedAt, at)),
    );
  }

  return {
    account,
    release: async (request, at) => decided('release', request, at, release),
    renew: async (request, at) => decided('renew', request, at, renew),
  };
}

function read(request: ReleaseRequest): Asked {
  const spec = parseJobSpec(request.spec);
  const terms = decodeTerms(request.terms);
  const evidence = parseSessionEvidence(request.evidence);
  const session = keysDigest(evidence.binding);
  return { spec, terms, evidence, jobId: jobIdOf(spec), session, evidenceBytes: request.evidence };
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}
