/**
 * The broker's one decision: may this enclave session have this data set's key for this job? Everything is refused
 * unless every check holds; what is handed out is sealed to the session that was appraised.
 */
import { createHash } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  addressOfPublicKey,
  appraisalDigest,
  decodeTerms,
  domainSeparator,
  enclaveKeyWord,
  equalBytes,
  jobDigest,
  jobIdOf,
  keccak,
  parseJobSpec,
  parseSessionEvidence,
  registryDomainSeparator,
  Rejection,
  releaseDigest,
  toHex,
  type Appraisal,
  type JobSpec,
  type Release,
  type SessionEvidence,
  type Terms,
} from '#attestation';
import type { Appraiser, SignedResult } from './appraiser.js';
import type { BrokerConfig } from './config.js';
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
  /** @throws Rejection with the failed check's code; CollateralError when material for a verdict is missing */
  release(request: ReleaseRequest, at: number): Promise<Released>;
}

export function createBroker(config: BrokerConfig, nonces: NonceBook, appraiser: Appraiser): Broker {
  const account = addressOfPublicKey(secp256k1.getPublicKey(config.signingSecret, false));
  const { chainId, contract, registry } = config.settlement;
  const domains = {
    escrow: domainSeparator({ chainId, verifyingContract: contract }),
    registry: registryDomainSeparator({ chainId, verifyingContract: registry }),
  };
  return {
    account,
    async release(request, at) {
      const spec = parseJobSpec(request.spec);
      const terms = decodeTerms(request.terms);
      const evidence = parseSessionEvidence(request.evidence);
      const jobId = jobIdOf(spec);
      nonces.spend(evidence.nonce, toHex(jobId), at);
      const key = authorise(config, appraiser.policyDigest, { spec, terms, evidence, jobId });
      const result = await appraiser.appraise(evidence, at);
      const { binding } = evidence;
      const release: Release = {
        job: jobDigest(terms),
        enclaveKey: enclaveKeyWord(binding.settlementKey),
        shardsDigest: keccak(spec.dataset.root),
      };
      const appraisal: Appraisal = {
        key: binding.settlementKey,
        policy: spec.policyDigest,
        provider: binding.provider,
        evidence: new Uint8Array(createHash('sha256').update(request.evidence).digest()),
        notAfter: Math.min(at + config.validForSeconds, result.notAfter),
      };
      return {
        sealedKey: await sealDataKey({ datasetId: spec.dataset.id, key }, jobId, binding),
        release,
        releaseSignature: sign(releaseDigest(domains.escrow, release), config.signingSecret),
        appraisal,
        appraisalSignature: sign(appraisalDigest(domains.registry, appraisal), config.signingSecret),
        result,
      };
    },
  };
}

interface Asked {
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly evidence: SessionEvidence;
  readonly jobId: Uint8Array;
}

/** @returns the data key that is asked for @throws Rejection naming the first thing the data owner did not allow */
function authorise(
  config: BrokerConfig,
  policyDigest: Uint8Array,
  { spec, terms, evidence, jobId }: Asked,
): Uint8Array {
  const { settlement, recipients } = config;
  const key = config.dataKey(spec.dataset.id);
  if (key === null) throw refused('BROKER_DATASET', 'a data set of this broker', toHex(spec.dataset.id));
  if (!recipients.has(toHex(spec.recipient))) {
    throw refused('BROKER_RECIPIENT', "a result encrypted to one of the data owner's keys", toHex(spec.recipient));
  }
  same('BROKER_POLICY', 'policy', policyDigest, spec.policyDigest);
  same('BROKER_POLICY', 'policy of the escrow', policyDigest, terms.policy);
  same('BROKER_ESCROW', 'job of the escrow', jobId, terms.specDigest);
  same('BROKER_CHAIN', 'contract', settlement.contract, spec.settlement.contract);
  same('BROKER_CHAIN', 'enclave registry', settlement.registry, evidence.binding.registry);
  if (spec.settlement.chainId !== settlement.chainId || evidence.binding.chainId !== settlement.chainId) {
    throw refused('BROKER_CHAIN', `chain ${settlement.chainId}`, `${spec.settlement.chainId}`);
  }
  const { provider } = terms;
  if (provider.some((byte) => byte !== 0)) same('BROKER_PROVIDER', 'provider', provider, evidence.binding.provider);
  return key;
}

function same(code: string, what: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw refused(code, `${what} ${toHex(expected)}`, toHex(got));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: "the data owner's release policy",
    action: 'submit a job that the data owner allows, or ask the data owner to allow it',
  });
}

/** 65 bytes r ‖ s ‖ v. */
function sign(digest: Uint8Array, secret: Uint8Array): Uint8Array {
  const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
  const out = new Uint8Array(65);
  out.set(signature.subarray(1));
  out[64] = 27 + signature[0]!;
  return out;
}
