/** Whether a job is one that this host works for: the control plane may hand out any, the host's account pays for it. */
import {
  isZero,
  jobDigest,
  jobIdOf,
  JobMode,
  mayBeProvedInstead,
  Rejection,
  specDigestOf,
  toHex,
  type JobSpec,
  type Terms,
} from '#attestation';
import type { AssignedJob } from '#libs/messaging';
import type { HostSettings } from './settings.js';

export interface OwnSide {
  /** Account that is paid, 20 bytes. */
  readonly account: Uint8Array;
  readonly chainId: number;
  /** Escrow contract, 20 bytes. */
  readonly settlement: Uint8Array;
  readonly limits: HostSettings['escrow'];
}

const attestedMode = JobMode.tee | JobMode.reveal;
/** Paid when every segment is proved besides: provers see to that. */
const provedMode = attestedMode | JobMode.full;
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

/**
 * Nothing is signed or spent before this passed.
 * @throws Rejection HOST_TERMS_JOB, _ESCROW, _CHAIN, _PROVIDER, _MODE, _TOKEN, _PRICE, _STAKE, _LIVENESS, _WINDOWS
 */
export function checkTerms(
  job: Pick<AssignedJob, 'jobId' | 'escrowId'>,
  terms: Terms,
  spec: JobSpec,
  { account, chainId, settlement, limits }: OwnSide,
): void {
  agree('JOB', 'the digest of the job spec', hex(jobIdOf(spec)), job.jobId);
  agree('JOB', 'terms of this job', hex(specDigestOf(spec)), hex(terms.specDigest));
  agree('ESCROW', 'the digest of the terms', hex(jobDigest(terms)), job.escrowId);
  agree('CHAIN', 'chain', chainId, spec.settlement.chainId);
  agree('CHAIN', 'contract', hex(settlement), hex(spec.settlement.contract));
  agree('PROVIDER', 'provider', hex(account), hex(terms.provider));
  const isProved = limits.acceptProved && spec.assurance === 'tee+zk';
  const isEither = limits.acceptProved && mayBeProvedInstead(spec, terms);
  const mode = isEither ? JobMode.tee : isProved ? provedMode : attestedMode;
  agree('MODE', 'mode of tee and reveal', mode, terms.mode);
  agree('MODE', 'number of duty selectors', isProved || isEither ? 1 : 0, terms.dutySelectors.length);
  agree('MODE', 'seconds to challenge', 0, terms.windows.challenge);
  if (!isZero(terms.token) && !limits.tokens.includes(hex(terms.token))) {
    throw refused('TOKEN', 'the native coin, or a token of the settings', hex(terms.token));
  }
  atLeast('PRICE', 'price', limits.priceMinWei, terms.price);
  atMost('STAKE', 'stake', limits.stakeMaxWei, terms.stake);
  atMost('LIVENESS', 'liveness', (terms.stake * BigInt(limits.livenessMaxBps)) / 10_000n, terms.liveness);
  const { start, compute, ack, reveal } = terms.windows;
  atLeast('WINDOWS', 'seconds to start', limits.startMinSeconds, start);
  atLeast('WINDOWS', 'seconds to compute', limits.computeMinSeconds, compute);
  if (isEither) return;
  atLeast('WINDOWS', 'seconds to acknowledge', limits.ackMinSeconds, ack);
  atLeast('WINDOWS', 'seconds to reveal', limits.revealMinSeconds, reveal);
}

function agree(about: string, what: string, expected: string | number, got: string | number): void {
  if (expected !== got) throw refused(about, `${what} ${expected}`, String(got));
}

function atLeast(about: string, what: string, min: bigint | number, got: bigint | number): void {
  if (got < min) throw refused(about, `${what} of at least ${min}`, String(got));
}

function atMost(about: string, what: string, max: bigint | number, got: bigint | number): void {
  if (got > max) throw refused(about, `${what} of at most ${max}`, String(got));
}

function refused(about: string, expected: string, got: string): Rejection {
  return new Rejection(`HOST_TERMS_${about}`, {
    expected,
    got,
    rule: 'host agent settings, escrow',
    action: 'offer terms that this host accepts, or another host',
  });
}
