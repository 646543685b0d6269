/**
 * Digests that settlement signatures are over: EIP-712 in the domain of one contract on one chain
 * (contracts/SPEC.md §3).
 */
import { compareBytes, concatBytes, equalBytes, utf8 } from '../base/bytes.js';
import { exactBytes, keccak, word, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

/** First four bytes of a TeeSeal: keccak256("veritrain/tee/1"). */
export const teeSelector = keccak(utf8('veritrain/tee/1')).slice(0, 4);

export interface ContractOnChain {
  readonly chainId: number;
  /** 20 bytes. */
  readonly verifyingContract: Uint8Array;
}

/** What an enclave seals. */
export interface Run {
  /** The escrow's identity, `escrowIdOf` of its terms. */
  readonly job: Digest;
  /** Segments done. */
  readonly upTo: number;
  /** 0 complete; 1 segment `upTo` leaves its declared range; 2 stopped on request; 3 stopped by the manifest's rule. */
  readonly outcome: 0 | 1 | 2 | 3;
  readonly bordersRoot: Digest;
  readonly last: Digest;
  /** `deliveryDigest`, or zero when the client fetches the result itself. */
  readonly delivery: Digest;
  /** `runKeysDigest` of the settlement keys behind the borders and of the sealer. */
  readonly keys: Digest;
}

/** Whether a run brings a result: it is complete, or the manifest's rule stopped it. */
export function bringsResult({ outcome }: Pick<Run, 'outcome'>): boolean {
  return outcome === 0 || outcome === 3;
}

export interface Segment {
  readonly job: Digest;
  readonly index: number;
  readonly weightsBefore: Digest;
  readonly weightsAfter: Digest;
}

/** The key broker's word that one session may work on one job, with which data key and for how long. */
export interface Release {
  readonly job: Digest;
  /** 20 bytes. */
  readonly provider: Uint8Array;
  /** Id of the data set whose key is released. */
  readonly dataset: Digest;
  /** `keysDigest` of the session. */
  readonly session: Digest;
  /** Settlement key's account, 20 bytes. */
  readonly key: Uint8Array;
  readonly policy: Digest;
  /** SHA-256 of the evidence's bytes. */
  readonly evidence: Digest;
  /** SHA-256 of the sealed data key. */
  readonly grant: Digest;
  /** The broker's challenge that the evidence answers. */
  readonly nonce: Digest;
  /** When the broker decided, unix seconds of its clock. */
  readonly grantedAt: number;
  /** Until when the evidence may be relied on, unix seconds of the same clock. */
  readonly notAfter: number;
}

/** The key broker's word that a session may go on. */
export type Lease = Pick<Release, 'job' | 'session' | 'policy' | 'evidence' | 'nonce' | 'grantedAt' | 'notAfter'>;

/** An attestor's word that a settlement key belongs to an appraised enclave. */
export type Appraisal = Pick<Release, 'job' | 'provider' | 'session' | 'key' | 'policy' | 'evidence' | 'notAfter'>;

const types = {
  domain: 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  run: 'Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery,bytes32 keys)',
  segment: 'Segment(bytes32 job,uint32 index,bytes32 weightsBefore,bytes32 weightsAfter)',
  release:
    'Release(bytes32 job,address provider,bytes32 dataset,bytes32 session,address key,bytes32 policy,bytes32 evidence,bytes32 grant,bytes32 nonce,uint40 grantedAt,uint40 notAfter)',
  lease:
    'Lease(bytes32 job,bytes32 session,bytes32 policy,bytes32 evidence,bytes32 nonce,uint40 grantedAt,uint40 notAfter)',
  voucher: 'Voucher(bytes32 job,uint256 cumulative)',
  award: 'Award(bytes32 job,address provider)',
  availability: 'Availability(bytes32 job,bytes32 ciphertextDigest,uint40 until)',
  appraisal:
    'Appraisal(bytes32 job,address provider,bytes32 session,address key,bytes32 policy,bytes32 evidence,uint40 notAfter)',
  revocation: 'Revocation(bytes32 job,address key,bytes32 reason)',
} as const;

/** The one domain of all that is said about a job. */
export function domainSeparator(contract: ContractOnChain): Digest {
  return separator('Settlement', '2', contract);
}

export function runDigest(domain: Digest, run: Run): Digest {
  const { job, upTo, outcome, bordersRoot, last, delivery, keys } = run;
  const counted = [uintWord(upTo, 4), uintWord(outcome, 1)];
  return typedDigest(domain, types.run, job, ...counted, bordersRoot, last, delivery, keys);
}

/** Accounts as a Run's keys are hashed and as `commit` takes them: ascending, each once. */
export function runKeysOf(accounts: readonly Uint8Array[]): Uint8Array[] {
  return [...accounts].sort(compareBytes).filter((one, at, all) => at === 0 || !equalBytes(one, all[at - 1]!));
}

export function runKeysDigest(accounts: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(...runKeysOf(accounts).map(addressWord)));
}

export function segmentDigest(domain: Digest, segment: Segment): Digest {
  const { job, index, weightsBefore, weightsAfter } = segment;
  return typedDigest(domain, types.segment, job, uintWord(index, 4), weightsBefore, weightsAfter);
}

export function releaseDigest(domain: Digest, release: Release): Digest {
  const { job, provider, dataset, session, key, policy, evidence, grant, nonce, grantedAt, notAfter } = release;
  const named = [job, addressWord(provider), dataset, session, addressWord(key), policy, evidence, grant, nonce];
  return typedDigest(domain, types.release, ...named, uintWord(grantedAt, 5), uintWord(notAfter, 5));
}

export function leaseDigest(domain: Digest, lease: Lease): Digest {
  const { job, session, policy, evidence, nonce, grantedAt, notAfter } = lease;
  const times = [uintWord(grantedAt, 5), uintWord(notAfter, 5)];
  return typedDigest(domain, types.lease, job, session, policy, evidence, nonce, ...times);
}

export function voucherDigest(domain: Digest, job: Digest, cumulative: bigint): Digest {
  return typedDigest(domain, types.voucher, job, uintWord(cumulative, 32));
}

export function awardDigest(domain: Digest, job: Digest, provider: Uint8Array): Digest {
  return typedDigest(domain, types.award, job, addressWord(provider));
}

/** @param until unix seconds: that the ciphertext can be fetched until then */
export function availabilityDigest(domain: Digest, job: Digest, ciphertextDigest: Digest, until: number): Digest {
  return typedDigest(domain, types.availability, job, ciphertextDigest, uintWord(until, 5));
}

export function appraisalDigest(domain: Digest, appraisal: Appraisal): Digest {
  const { job, provider, session, key, policy, evidence, notAfter } = appraisal;
  const named = [job, addressWord(provider), session, addressWord(key), policy, evidence];
  return typedDigest(domain, types.appraisal, ...named, uintWord(notAfter, 5));
}

/** @param key account of the settlement key, 20 bytes */
export function revocationDigest(domain: Digest, job: Digest, key: Uint8Array, reason: Digest): Digest {
  return typedDigest(domain, types.revocation, job, addressWord(key), reason);
}

/** What the seal binds about the result (contracts/SPEC.md §12). */
export function deliveryDigest(ciphertextDigest: Digest, keyCommit: Digest): Digest {
  return keccak(concatBytes(exactBytes('ciphertextDigest', ciphertextDigest), exactBytes('keyCommit', keyCommit)));
}

/** EIP-712 domain of a contract by name and version. */
export function separator(name: string, version: string, { chainId, verifyingContract }: ContractOnChain): Digest {
  const fields = [keccak(utf8(name)), keccak(utf8(version)), word(chainId), addressWord(verifyingContract)];
  return structHash(types.domain, ...fields);
}

export function typedDigest(domain: Digest, type: string, ...words: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(Uint8Array.of(0x19, 0x01), exactBytes('domain', domain), structHash(type, ...words)));
}

function structHash(type: string, ...words: readonly Uint8Array[]): Digest {
  return keccak(concatBytes(keccak(utf8(type)), ...words.map((entry) => exactBytes('word', entry))));
}

export function addressWord(address: Uint8Array): Uint8Array {
  return concatBytes(new Uint8Array(12), exactBytes('address', address, 20));
}

/** @throws Rejection STATEMENT_RANGE when the value does not fit its Solidity type */
export function uintWord(value: number | bigint, size: number): Uint8Array {
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (!whole || value < 0 || BigInt(value) >> BigInt(8 * size) !== 0n) {
    throw new Rejection('STATEMENT_RANGE', {
      expected: `an unsigned integer of ${size} bytes`,
      got: String(value),
      rule: 'contracts/SPEC.md §3',
    });
  }
  return word(value);
}
