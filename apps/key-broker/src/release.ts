/**
 * The broker's one decision: may this enclave session have this data set's key for this job? Everything is refused
 * unless every check holds; what is handed out is sealed to the session that was appraised.
 */
import { createHash } from 'node:crypto';
import {
  appraisalDigest,
  decodeTerms,
  domainSeparator,
  enclaveKeyWord,
  isZero,
  jobDigest,
  jobIdOf,
  keccak,
  parseJobSpec,
  parseSessionEvidence,
  registryDomainSeparator,
  releaseDigest,
  signRecoverable,
  toHex,
  type Appraisal,
  type Release,
  type SessionEvidence,
} from '#attestation';
import type { Appraiser, SignedResult } from './appraiser.js';
import { authoriseJob, releasable, brokerAccount, refused, requireEscrow, requireSame } from './authorise.js';
import type { OrderedJob } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { decide } from './decide.js';
import { recordRelease } from './journal.js';
import type { NonceBook } from './nonces.js';
import { sealDataKey } from './seal-key.js';

export interface ReleaseRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly evidence: Uint8Array;
}

export interface Released {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
  readonly appraisal: Appraisal;
  readonly appraisalSignature: Uint8Array;
  readonly result: SignedResult;
}

export interface Broker {
  /** Account that signs releases and appraisals, 20 bytes. */
  readonly account: Uint8Array;
  /** @throws Rejection with the failed check's code; CollateralError when material for a verdict, or the chain, is missing */
  release(request: ReleaseRequest, at: number): Promise<Released>;
}

export function createBroker(config: BrokerConfig, nonces: NonceBook, appraiser: Appraiser): Broker {
  const account = brokerAccount(config);
  const { chainId, contract, registry } = config.settlement;
  const domains = {
    escrow: domainSeparator({ chainId, verifyingContract: contract }),
    registry: registryDomainSeparator({ chainId, verifyingContract: registry }),
  };

  async function judge(asked: Asked, evidenceBytes: Uint8Array, issuedAt: number, at: number): Promise<Released> {
    const { spec, terms, evidence, jobId } = asked;
    const { binding } = evidence;
    const key = authorise(config, appraiser.policyDigest, asked);
    await requireEscrow(config, terms, releasable);
    const result = await appraiser.appraise(evidence, at);
    const sealedKey = await sealDataKey({ datasetId: spec.dataset.id, key }, jobId, binding);
    const release: Release = {
      job: jobDigest(terms),
      enclaveKey: enclaveKeyWord(binding.settlementKey),
      shardsDigest: keccak(spec.dataset.root),
    };
    const appraisal: Appraisal = {
      key: binding.settlementKey,
      policy: spec.policyDigest,
      provider: binding.provider,
      evidence: new Uint8Array(createHash('sha256').update(evidenceBytes).digest()),
      // Counted from the challenge: whoever else appraises this evidence does so after it, and before this.
      notAfter: Math.min(issuedAt + config.validForSeconds, result.notAfter - (at - issuedAt)),
    };
    const more = { job: hex(release.job), key: hex(appraisal.key), tier: result.tier };
    recordRelease(config, at, { datasetId: spec.dataset.id, jobId, more });
    return {
      sealedKey,
      release,
      releaseSignature: signRecoverable(releaseDigest(domains.escrow, release), config.signingSecret),
      appraisal,
      appraisalSignature: signRecoverable(appraisalDigest(domains.registry, appraisal), config.signingSecret),
      result,
    };
  }

  return {
    account,
    async release(request, at) {
      const spec = parseJobSpec(request.spec);
      const terms = decodeTerms(request.terms);
      const evidence = parseSessionEvidence(request.evidence);
      const jobId = jobIdOf(spec);
      return decide({ config, nonces, nonce: evidence.nonce, jobId, at }, (issuedAt) =>
        judge({ spec, terms, evidence, jobId }, request.evidence, issuedAt, at),
      );
    },
  };
}

interface Asked extends OrderedJob {
  readonly evidence: SessionEvidence;
}

/** @returns the data key that is asked for @throws Rejection naming the first thing the data owner did not allow */
function authorise(config: BrokerConfig, policyDigest: Uint8Array, asked: Asked): Uint8Array {
  const key = authoriseJob(config, asked);
  const { spec, terms, evidence } = asked;
  const { chainId, registry } = config.settlement;
  const { binding } = evidence;
  requireSame('BROKER_POLICY', 'policy', policyDigest, spec.policyDigest);
  requireSame('BROKER_POLICY', 'policy of the escrow', policyDigest, terms.policy);
  requireSame('BROKER_CHAIN', 'enclave registry', registry, binding.registry);
  if (binding.chainId !== chainId) throw refused('BROKER_CHAIN', `chain ${chainId}`, `${binding.chainId}`);
  if (!isZero(terms.provider)) requireSame('BROKER_PROVIDER', 'provider', terms.provider, binding.provider);
  return key;
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}
