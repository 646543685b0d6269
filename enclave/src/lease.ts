/**
 * The time for which the key broker lets this session work on a job (enclave/SPEC.md, lease). The guest has no clock
 * that its host cannot set, so a lease is counted in time that has passed since this session made the evidence that
 * earned it.
 */
import { equalBytes, recoverAddress, Rejection, toHex } from '#attestation/base';
import { leaseDigest, type Lease, type Release } from '#attestation/records';

/** Milliseconds that only grow. */
export type Monotonic = () => number;

/** A nonce that was forgotten could be answered again, and an old lease would count anew: none is forgotten. */
const answeredMax = 131_072;

/** When this session first made evidence over each nonce. */
export interface AnsweredNonces {
  /** To be told before the report is asked for. @throws Rejection ATTEST_LIMIT */
  note(nonce: Uint8Array): void;
  /** Milliseconds. @throws Rejection LEASE_NONCE */
  madeAt(nonce: Uint8Array): number;
}

export function createAnsweredNonces(now: Monotonic): AnsweredNonces {
  const made = new Map<string, number>();
  return {
    note(nonce) {
      if (made.size >= answeredMax) throw refused('ATTEST_LIMIT', `at most ${answeredMax} nonces`, 'one more');
      if (!made.has(toHex(nonce))) made.set(toHex(nonce), now());
    },
    madeAt(nonce) {
      const at = made.get(toHex(nonce));
      if (at !== undefined) return at;
      throw refused('LEASE_NONCE', 'a lease for evidence of this session', `nonce ${toHex(nonce)}`);
    },
  };
}

export interface JobLease {
  /** @throws Rejection ATTESTATION_LAPSED when the lease is over: nothing more is opened or signed under it */
  check(): void;
  /** @throws Rejection ATTESTATION_LAPSED, LEASE_NONCE, LEASE_STALE, LEASE_SIGNATURE, LEASE_JOB, SEAL_SIGNATURE */
  renew(lease: Lease, signature: Uint8Array): void;
}

interface LeaseContext {
  /** The broker's word that began it. */
  readonly release: Release;
  /** EIP-712 domain of the job's escrow. */
  readonly domain: Uint8Array;
  /** Account of the key broker that the terms name, 20 bytes. */
  readonly broker: Uint8Array;
  readonly answered: AnsweredNonces;
  readonly now: Monotonic;
}

/** @throws Rejection LEASE_NONCE, ATTESTATION_LAPSED */
export function openLease(context: LeaseContext): JobLease {
  const { release, domain, broker, answered, now } = context;
  /** Ends no later than the broker's notAfter: the evidence was made before the broker decided. */
  const endOf = ({ nonce, grantedAt, notAfter }: Lease): number =>
    answered.madeAt(nonce) + 1000 * (notAfter - grantedAt);
  let end = endOf(release);
  const check = (): void => {
    const late = now() - end;
    if (late < 0) return;
    throw new Rejection('ATTESTATION_LAPSED', {
      expected: 'a lease of the key broker that is not over',
      got: `one that ended ${Math.ceil(late / 1000)} s ago`,
      rule: 'enclave/SPEC.md, lease',
      action: 'open a fresh session and ask the key broker for the data key again; the job goes on from its checkpoint',
    });
  };
  check();
  return {
    check,
    renew(lease, signature) {
      check();
      const signer = recoverAddress(leaseDigest(domain, lease), signature);
      if (!equalBytes(signer, broker)) throw refused('LEASE_SIGNATURE', `a lease by ${toHex(broker)}`, toHex(signer));
      for (const name of ['job', 'session', 'policy'] as const) {
        if (equalBytes(lease[name], release[name])) continue;
        throw refused('LEASE_JOB', `${name} ${toHex(release[name])}`, toHex(lease[name]));
      }
      const next = endOf(lease);
      if (next <= end) throw refused('LEASE_STALE', 'a lease that ends later than the present one', 'an older one');
      end = next;
    },
  };
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, lease',
    action: 'have fresh evidence appraised by the key broker, in a fresh session if this one is refused',
  });
}
