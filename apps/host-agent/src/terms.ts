/** Whether a job is one that this host works for: the control plane may hand out any, the host's account pays for it. */
import { isZero, Rejection, to0x } from '#attestation/base';
import {
  chunkBytes,
  chunksMax,
  resultChunksMax,
  clientQuorum,
  closingBond,
  escrowIdOf,
  jobIdOf,
  JobMode,
  mayBeProvedInstead,
  quorumRemedy,
  specDigestOf,
  termsFit,
  type JobSpec,
  type Terms,
  type TermsFacts,
} from '#attestation/records';
import { greatestWindows } from '#libs/node';
import { planOf } from '#libs/proof';
import type { ChainSettings } from '#libs/settlement';
import { divideSteps, isNet, parameterCount, parseJobManifestText, trainingSeconds } from '#libs/step';
import type { AssignedJob } from '#libs/wire';
import { checkAttestors, type Attestors } from './attestors.js';
import { checkSnpPolicy, type SnpPolicies } from './registration.js';
import { owesProofs } from './owed-proofs.js';
import type { HostSettings } from './settings.js';

export interface OwnSide {
  /** Account that is paid, 20 bytes. */
  readonly account: Uint8Array;
  readonly chainId: number;
  /** Escrow contract, 20 bytes. */
  readonly settlement: Uint8Array;
  readonly limits: Omit<HostSettings['escrow'], 'acceptClientQuorum'> & { readonly acceptClientQuorum: boolean };
  readonly attestors: Attestors;
  readonly snpPolicies: SnpPolicies;
}

/** What the settings leave open follows from the kind of chain: a local one has one person on both sides. */
export function limitsOn({ actsAt }: Pick<ChainSettings, 'actsAt'>, escrow: HostSettings['escrow']): OwnSide['limits'] {
  const isLocal = actsAt === 'latest';
  return { acceptClientQuorum: isLocal, acceptUnpublishable: isLocal, ...escrow };
}

const attestedMode = JobMode.tee | JobMode.reveal;
/** Paid when every segment is proved besides: provers see to that. */
const provedMode = attestedMode | JobMode.full;

/** Of a result: canonical weights of eight bytes, and what encryption and encoding add. */
const weightBytes = 8;
const envelopeBytes = 1024;
/** Beyond it neither key broker nor chain takes a result. */
const publishMax = chunkBytes * chunksMax;
const resultMax = chunkBytes * resultChunksMax;

/** @throws Rejection MANIFEST_* */
export function resultBytesOf({ manifest }: Pick<JobSpec, 'manifest'>): number {
  return weightBytes * parameterCount(parseJobManifestText(manifest)) + envelopeBytes;
}

/**
 * Nothing is signed or spent before this passed.
 * @param publishWei what putting the result on chain would cost now
 * @throws Rejection HOST_TERMS_JOB, _ESCROW, _CHAIN, _PROVIDER, _MODE, _BOND, _TOKEN, _PRICE, _STAKE, _LIVENESS, _WINDOWS, _QUORUM,
 *   _ATTESTOR, _SNP, _RESULT; TERMS_* of what all who sign demand
 */
export function checkTerms(
  job: Pick<AssignedJob, 'jobId' | 'escrowId'>,
  terms: Terms,
  spec: JobSpec,
  own: OwnSide,
  publishWei: bigint,
): void {
  const { account, chainId, settlement, limits } = own;
  agree('JOB', 'the digest of the job spec', to0x(jobIdOf(spec)), job.jobId);
  agree('JOB', 'terms of this job', to0x(specDigestOf(spec)), to0x(terms.specDigest));
  agree('ESCROW', 'the digest of the terms', to0x(escrowIdOf(terms)), job.escrowId);
  agree('CHAIN', 'chain', chainId, spec.settlement.chainId);
  agree('CHAIN', 'contract', to0x(settlement), to0x(spec.settlement.contract));
  agree('PROVIDER', 'provider', to0x(account), to0x(terms.provider));
  const isEither = checkMode(terms, spec, own);
  if (isEither) checkBond(terms);
  if (!isZero(terms.token) && !limits.tokens.includes(to0x(terms.token))) {
    throw refused('TOKEN', 'the native coin, or a token of the settings', to0x(terms.token));
  }
  atLeast('PRICE', 'price', limits.priceMinWei, terms.price);
  atMost('STAKE', 'stake', limits.stakeMaxWei, terms.stake);
  atMost('LIVENESS', 'liveness', (terms.stake * BigInt(limits.livenessMaxBps)) / 10_000n, terms.liveness);
  checkWindows(terms, own, isEither);
  atMost('RESULT', 'bytes of result', limits.acceptUnpublishable ? resultMax : publishMax, resultBytesOf(spec));
  checkQuorum(terms, own);
  checkAttestors(terms, own.attestors);
  checkSnpPolicy(terms, own.snpPolicies);
  termsFit(spec, terms, factsOf(spec, terms, own, publishWei));
}

/** @returns whether proofs may finish what the enclave began */
function checkMode(terms: Terms, spec: JobSpec, { limits }: OwnSide): boolean {
  const isProved = limits.acceptProved && spec.assurance === 'tee+zk';
  const isEither = limits.acceptProved && mayBeProvedInstead(spec, terms);
  const mode = isEither ? JobMode.tee : isProved ? provedMode : attestedMode;
  // Whether a rule may end the job is the manifest's to say: `termsFit` compares.
  agree('MODE', 'mode of tee and reveal', mode | (terms.mode & JobMode.early), terms.mode);
  agree('MODE', 'number of duty selectors', isProved || isEither ? 1 : 0, terms.dutySelectors.length);
  if (spec.proving !== null) agree('MODE', 'scheme', 'fxt-zk/1', spec.scheme);
  return isEither;
}

/** A sealed run has no proofs: who could pay the bond would take the stake. */
function checkBond({ bond }: Terms): void {
  if (bond === closingBond) return;
  const action =
    'order anew with the newest `veritrain job submit`, or with --on-lapse tee, or proofs with --assurance tee+zk';
  throw refused('BOND', `a bond of ${closingBond}, which nobody can pay`, `${bond}`, action);
}

function checkWindows({ windows }: Terms, { limits }: OwnSide, isEither: boolean): void {
  const { start, compute, ack, reveal } = windows;
  atLeast('WINDOWS', 'seconds to start', limits.startMinSeconds, start);
  atLeast('WINDOWS', 'seconds to compute', limits.computeMinSeconds, compute);
  if (isEither) return;
  atLeast('WINDOWS', 'seconds to acknowledge', limits.ackMinSeconds, ack);
  atLeast('WINDOWS', 'seconds to reveal', limits.revealMinSeconds, reveal);
}

/**
 * Who has the quorum may take a seal away for nothing, so a client that has it needs not pay. The key broker is taken for the
 * client's own unless the settings call it independent.
 */
function checkQuorum(terms: Terms, { limits }: OwnSide): void {
  if (limits.acceptClientQuorum) return;
  const quorum = clientQuorum(terms, limits.independentBrokers);
  if (!quorum.isAlone) return;
  throw refused(
    'QUORUM',
    `fewer than ${quorum.required} accounts of the client’s side among those who revoke`,
    `${quorum.side}`,
    quorumRemedy(terms, quorum),
  );
}

/** What the host knows beside spec and terms. @throws Rejection STEP_PLAN, MANIFEST_* */
function factsOf(spec: JobSpec, terms: Terms, { limits }: OwnSide, publishWei: bigint): TermsFacts {
  const { proving } = spec;
  const { token } = terms;
  const manifest = parseJobManifestText(spec.manifest);
  const { rounds } = divideSteps(manifest, spec);
  // Where every segment must be proved, the run is committed when the last proof is there.
  const proofs = owesProofs(terms) ? rounds * limits.proofSeconds : 0;
  return {
    ...(proving !== null && !isNet(manifest) && { plan: planOf({ manifest, ...proving }).digest }),
    greatest: greatestWindows(limits),
    runSeconds: trainingSeconds(manifest, rounds, limits.multiplyAddsPerSecond) + proofs,
    benchSeconds: limits.proofSeconds,
    answerMin: limits.answerMinWei,
    // What gas costs in a token nobody here knows; what cannot be published costs nothing.
    publishEstimate: isZero(token) && resultBytesOf(spec) <= publishMax ? publishWei : 0n,
  };
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

function refused(
  about: string,
  expected: string,
  got: string,
  action = 'offer terms that this host accepts, or another host',
): Rejection {
  return new Rejection(`HOST_TERMS_${about}`, { expected, got, rule: 'host agent settings, escrow', action });
}
