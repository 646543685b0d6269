/** Digests that settlement signatures are over: EIP-712 in the domain of one contract on one chain (settlement §3). */
import { concatBytes, utf8 } from '../bytes.js';
import { exactBytes, keccak, word, type Digest } from './digest.js';

/** First four bytes of a TeeSeal: keccak256("veritrain/tee/1"). */
export const teeSelector = keccak(utf8('veritrain/tee/1')).slice(0, 4);

export interface SettlementDomain {
  /** `Settlement` for the escrow's own statements, `EnclaveRegistry` for appraisals and revocations. */
  readonly name: 'Settlement' | 'EnclaveRegistry';
  readonly chainId: number;
  /** 20 bytes. */
  readonly verifyingContract: Uint8Array;
}

/** What an enclave seals. */
export interface Run {
  /** Escrow id. */
  readonly job: Digest;
  /** Segments done. */
  readonly upTo: number;
  /** 0 complete; 1 segment `upTo` leaves its declared range; 2 stopped on request. */
  readonly outcome: 0 | 1 | 2;
  readonly bordersRoot: Digest;
  readonly last: Digest;
  /** `deliveryDigest`, or zero when the client fetches the result itself. */
  readonly delivery: Digest;
}

export interface Segment {
  readonly job: Digest;
  readonly index: number;
  readonly weightsBefore: Digest;
  readonly weightsAfter: Digest;
}

/** The data owner's word that a session may start. */
export interface Release {
  readonly job: Digest;
  /** keccak256 of the settlement key's address as one word. */
  readonly enclaveKey: Digest;
  readonly shardsDigest: Digest;
}

/** An attestor's word that a settlement key belongs to an appraised enclave. */
export interface Appraisal {
  /** Settlement key's account, 20 bytes. */
  readonly key: Uint8Array;
  readonly policy: Digest;
  readonly provider: Uint8Array;
  /** Digest of the evidence; registers once. */
  readonly evidence: Digest;
  /** Unix seconds. */
  readonly notAfter: number;
}

const types = {
  domain: 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  run: 'Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery)',
  segment: 'Segment(bytes32 job,uint32 index,bytes32 weightsBefore,bytes32 weightsAfter)',
  release: 'Release(bytes32 job,bytes32 enclaveKey,bytes32 shardsDigest)',
  voucher: 'Voucher(bytes32 job,uint256 cumulative)',
  appraisal: 'Appraisal(address key,bytes32 policy,address provider,bytes32 evidence,uint40 notAfter)',
  revocation: 'Revocation(address key,bytes32 reason)',
  award: 'Award(bytes32 job,address provider)',
  availability: 'Availability(bytes32 job,bytes32 ciphertextDigest)',
} as const;

export function domainSeparator(domain: SettlementDomain): Digest {
  return structHash(
    types.domain,
    keccak(utf8(domain.name)),
    keccak(utf8('1')),
    word(domain.chainId),
    addressWord(domain.verifyingContract),
  );
}

export function runDigest(domain: SettlementDomain, run: Run): Digest {
  return typedDigest(
    domain,
    structHash(types.run, run.job, word(run.upTo), word(run.outcome), run.bordersRoot, run.last, run.delivery),
  );
}

export function segmentDigest(domain: SettlementDomain, segment: Segment): Digest {
  const { job, index, weightsBefore, weightsAfter } = segment;
  return typedDigest(domain, structHash(types.segment, job, word(index), weightsBefore, weightsAfter));
}

export function releaseDigest(domain: SettlementDomain, release: Release): Digest {
  return typedDigest(domain, structHash(types.release, release.job, release.enclaveKey, release.shardsDigest));
}

export function voucherDigest(domain: SettlementDomain, job: Digest, cumulative: bigint): Digest {
  return typedDigest(domain, structHash(types.voucher, job, word(cumulative)));
}

export function appraisalDigest(domain: SettlementDomain, appraisal: Appraisal): Digest {
  const { key, policy, provider, evidence, notAfter } = appraisal;
  return typedDigest(
    domain,
    structHash(types.appraisal, addressWord(key), policy, addressWord(provider), evidence, word(notAfter)),
  );
}

export function awardDigest(domain: SettlementDomain, job: Digest, provider: Uint8Array): Digest {
  return typedDigest(domain, structHash(types.award, job, addressWord(provider)));
}

export function availabilityDigest(domain: SettlementDomain, job: Digest, ciphertextDigest: Digest): Digest {
  return typedDigest(domain, structHash(types.availability, job, ciphertextDigest));
}

export function revocationDigest(domain: SettlementDomain, key: Uint8Array, reason: Digest): Digest {
  return typedDigest(domain, structHash(types.revocation, addressWord(key), reason));
}

/** What the seal binds about the result (settlement §12). */
export function deliveryDigest(ciphertextDigest: Digest, keyCommit: Digest): Digest {
  return keccak(concatBytes(exactBytes('ciphertextDigest', ciphertextDigest), exactBytes('keyCommit', keyCommit)));
}

function typedDigest(domain: SettlementDomain, hash: Digest): Digest {
  return keccak(concatBytes(Uint8Array.of(0x19, 0x01), domainSeparator(domain), hash));
}

function structHash(type: string, ...words: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(keccak(utf8(type)), ...words.map((entry) => exactBytes('word', entry))));
}

function addressWord(address: Uint8Array): Uint8Array {
  return concatBytes(new Uint8Array(12), exactBytes('address', address, 20));
}
