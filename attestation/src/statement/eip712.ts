/** Digests that settlement signatures are over: EIP-712 in the domain of one contract on one chain (settlement §3). */
import { concatBytes, utf8 } from '../bytes.js';
import { Rejection } from '../errors.js';
import { exactBytes, keccak, word, type Digest } from './digest.js';

/** First four bytes of a TeeSeal: keccak256("veritrain/tee/1"). */
export const teeSelector = keccak(utf8('veritrain/tee/1')).slice(0, 4);

export interface ContractOnChain {
  readonly chainId: number;
  /** 20 bytes. */
  readonly verifyingContract: Uint8Array;
}

/** What an enclave seals. */
export interface Run {
  /** The escrow's identity, `jobDigest` of its terms. */
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
  /** `enclaveKeyWord` of the session's settlement key. */
  readonly enclaveKey: Digest;
  readonly shardsDigest: Digest;
}

/** An attestor's word that a settlement key belongs to an appraised enclave. */
export interface Appraisal {
  /** Settlement key's account, 20 bytes. */
  readonly key: Uint8Array;
  readonly policy: Digest;
  /** 20 bytes. */
  readonly provider: Uint8Array;
  /** Digest of the evidence; registers one key once. */
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
  award: 'Award(bytes32 job,address provider)',
  availability: 'Availability(bytes32 job,bytes32 ciphertextDigest)',
  appraisal: 'Appraisal(address key,bytes32 policy,address provider,bytes32 evidence,uint40 notAfter)',
  revocation: 'Revocation(address key,bytes32 reason)',
} as const;

/** Domain of the escrow: Run, Segment, Release, Voucher, Award. */
export function domainSeparator(contract: ContractOnChain): Digest {
  return separator('Settlement', contract);
}

/** Domain of the enclave registry: Appraisal, Revocation, Availability. */
export function registryDomainSeparator(contract: ContractOnChain): Digest {
  return separator('EnclaveRegistry', contract);
}

export function runDigest(domain: Digest, run: Run): Digest {
  const { job, upTo, outcome, bordersRoot, last, delivery } = run;
  return typedDigest(domain, types.run, job, uintWord(upTo, 4), uintWord(outcome, 1), bordersRoot, last, delivery);
}

export function segmentDigest(domain: Digest, segment: Segment): Digest {
  const { job, index, weightsBefore, weightsAfter } = segment;
  return typedDigest(domain, types.segment, job, uintWord(index, 4), weightsBefore, weightsAfter);
}

export function releaseDigest(domain: Digest, release: Release): Digest {
  return typedDigest(domain, types.release, release.job, release.enclaveKey, release.shardsDigest);
}

export function voucherDigest(domain: Digest, job: Digest, cumulative: bigint): Digest {
  return typedDigest(domain, types.voucher, job, uintWord(cumulative, 32));
}

export function awardDigest(domain: Digest, job: Digest, provider: Uint8Array): Digest {
  return typedDigest(domain, types.award, job, addressWord(provider));
}

export function availabilityDigest(domain: Digest, job: Digest, ciphertextDigest: Digest): Digest {
  return typedDigest(domain, types.availability, job, ciphertextDigest);
}

export function appraisalDigest(domain: Digest, appraisal: Appraisal): Digest {
  const { key, policy, provider, evidence, notAfter } = appraisal;
  return typedDigest(
    domain,
    types.appraisal,
    addressWord(key),
    policy,
    addressWord(provider),
    evidence,
    uintWord(notAfter, 5),
  );
}

export function revocationDigest(domain: Digest, key: Uint8Array, reason: Digest): Digest {
  return typedDigest(domain, types.revocation, addressWord(key), reason);
}

/** What the seal binds about the result (settlement §12). */
export function deliveryDigest(ciphertextDigest: Digest, keyCommit: Digest): Digest {
  return keccak(concatBytes(exactBytes('ciphertextDigest', ciphertextDigest), exactBytes('keyCommit', keyCommit)));
}

/** A settlement key as the 32-byte word that a Release carries: its account, left-padded with zeros. */
export function enclaveKeyWord(account: Uint8Array): Digest {
  return addressWord(account);
}

function separator(name: string, { chainId, verifyingContract }: ContractOnChain): Digest {
  const fields = [keccak(utf8(name)), keccak(utf8('1')), word(chainId), addressWord(verifyingContract)];
  return structHash(types.domain, ...fields);
}

function typedDigest(domain: Digest, type: string, ...words: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(Uint8Array.of(0x19, 0x01), exactBytes('domain', domain), structHash(type, ...words)));
}

function structHash(type: string, ...words: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(keccak(utf8(type)), ...words.map((entry) => exactBytes('word', entry))));
}

function addressWord(address: Uint8Array): Uint8Array {
  return concatBytes(new Uint8Array(12), exactBytes('address', address, 20));
}

/** @throws Rejection STATEMENT_RANGE when the value does not fit its Solidity type */
function uintWord(value: number | bigint, size: number): Uint8Array {
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (!whole || value < 0 || BigInt(value) >> BigInt(8 * size) !== 0n) {
    throw new Rejection('STATEMENT_RANGE', {
      expected: `an unsigned integer of ${size} bytes`,
      got: String(value),
      rule: 'settlement §3',
    });
  }
  return word(value);
}
