/**
 * Whether terms are ones to work, prove or pay under: the rules of contracts/SPEC.md §5 that need no chain, and those
 * that the chain cannot check. Client, control plane, key broker, host, prover and enclave ask this one function; what
 * they know beside spec and terms they hand in.
 */
import { compareBytes, equalBytes, isZero, toHex, utf8 } from '../base/bytes.js';
import { keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { samplesMax } from '../base/limits.js';
import { bordersMax } from './borders.js';
import { teeSelector } from './eip712.js';
import { evaluationPlanOf } from './evaluation-plan.js';
import { needsTee, type JobSpec } from './job-spec.js';
import { stepsOf } from './manifest-text.js';
import { workersOf } from './round.js';
import { specDigestOf } from './spec-digest.js';
import { attestorsMax, JobMode, type Terms, type Windows } from './terms.js';

/** What differs between those who ask; what is absent demands nothing. */
export interface TermsFacts {
  /** Digest of the plan as whoever asks derived it; absent: as the spec says, which the job id covers. */
  readonly plan?: Digest;
  /** Greatest windows that the host takes. */
  readonly greatest?: Partial<Windows>;
  /** Seconds in which whoever proves has proved one segment before. */
  readonly benchSeconds?: number;
  /** Seconds in which whoever asks reckons to have the run ready to commit. */
  readonly runSeconds?: number;
  /** Price of publishing the encrypted result on the chain. */
  readonly publishEstimate?: bigint;
  /** Least that whoever provides takes for the answer to a challenge that was wrong. */
  readonly answerMin?: bigint;
}

const windowEnd = 2 ** 24;
const bps = 10_000;
const samplesPerSegment = 8;
const proveSecondsMin = 3600;
const publishTimes = 3n;
/** Of a run, in the window in which it must be committed. */
const computeTimes = 2;
const { tee, full, sample, optimistic, reveal, early } = JobMode;

/** Profiles of `fxt-zk/1` whose proofs a contract verifies in two transactions. */
export const splitProfiles: readonly string[] = ['chain256', 'unit1024', 'unit2048'];

/**
 * Verifier of a job's step proofs: first four bytes of keccak256("veritrain/zk/fxt-zk/1") and the like, with "/split" behind it
 * where proofs are verified in two transactions.
 */
export function dutySelectorOf({ scheme, proving }: Pick<JobSpec, 'scheme'> & Partial<JobSpec>): Uint8Array {
  const isSplit = scheme === 'fxt-zk/1' && splitProfiles.includes(proving?.profile ?? '');
  return keccak(utf8(`veritrain/zk/${scheme}${isSplit ? '/split' : ''}`)).slice(0, 4);
}

/**
 * @throws Rejection TERMS_SPEC, TERMS_POLICY, TERMS_PLAN, TERMS_PARTY, TERMS_ATTESTORS, TERMS_MODE, TERMS_SELECTORS,
 *   TERMS_LIVENESS, TERMS_BOND, TERMS_PUBLISH, TERMS_SHARE, TERMS_SEGMENTS, TERMS_SAMPLES, TERMS_UNIT, TERMS_WINDOW,
 *   TERMS_COMPUTE, TERMS_PROVE; JOB_MANIFEST, JOB_VALIDATION
 */
export function termsFit(spec: JobSpec, terms: Terms, facts: TermsFacts = {}): void {
  checkSpec(spec, terms, facts);
  checkParties(terms);
  checkMode(spec, terms);
  checkSelectors(spec, terms);
  checkMoney(terms, facts);
  checkCounts(spec, terms);
  checkWindows(terms, facts);
}

function checkSpec(spec: JobSpec, terms: Terms, { plan = spec.proving?.planDigest }: TermsFacts): void {
  same('TERMS_SPEC', 'the digest of the spec', specDigestOf(spec), terms.specDigest);
  same('TERMS_POLICY', 'the policy of the spec', spec.policyDigest, terms.policy);
  if (spec.proving === null) return same('TERMS_PLAN', 'no plan', new Uint8Array(32), terms.planDigest);
  same('TERMS_PLAN', 'the plan of the spec', plan!, spec.proving.planDigest);
  same('TERMS_PLAN', 'the plan of the spec', plan!, terms.planDigest);
}

/** The provider's account is not the client's, the key broker's or an attestor's. */
function checkParties({ client, provider, keyBroker, attestors, needed }: Terms): void {
  demand('TERMS_PARTY', !isZero(keyBroker), 'a key broker', 'none');
  for (const other of [client, keyBroker, ...attestors]) {
    demand('TERMS_PARTY', isZero(provider) || !equalBytes(provider, other), 'a provider of its own', toHex(other));
  }
  demand('TERMS_ATTESTORS', attestors.length <= attestorsMax, `at most ${attestorsMax} attestors`, attestors.length);
  demand('TERMS_ATTESTORS', needed <= attestors.length, `at most ${attestors.length} needed`, needed);
  attestors.forEach((one, at) => {
    const before = attestors[at - 1] ?? new Uint8Array(20);
    demand('TERMS_ATTESTORS', compareBytes(before, one) < 0, 'accounts, ascending', toHex(one));
    demand('TERMS_ATTESTORS', !equalBytes(one, keyBroker), 'attestors beside the key broker', toHex(one));
  });
}

function checkMode(spec: JobSpec, { mode, dutySelectors }: Terms): void {
  const { assurance } = spec;
  const stop = evaluationPlanOf(spec)?.stop ?? null;
  const has = (bit: number): boolean => (mode & bit) !== 0;
  const proofs = dutySelectors.length > 0;
  const rule = (holds: boolean, expected: string): void => demand('TERMS_MODE', holds, expected, mode);
  rule((mode & ~(tee | full | sample | optimistic | reveal | early)) === 0, 'bits that are known');
  rule(has(tee) === needsTee(assurance), `a seal exactly where assurance ${assurance} has one`);
  rule(has(full) === (assurance === 'zk' || assurance === 'tee+zk'), `every proof exactly as assurance ${assurance}`);
  rule(has(sample) === (assurance === 'sampled'), `a sample exactly as assurance ${assurance}`);
  rule(!has(reveal) || has(tee), 'a seal where a key is revealed');
  rule(!has(early) || (has(tee) && !proofs), 'a seal and no proofs where a run may stop by rule');
  rule(has(early) === (stop !== null), 'early stops allowed exactly where the manifest has a rule to stop by');
  rule(!has(tee) || has(reveal) || proofs, 'another way to be paid where the seal is taken away');
}

function checkSelectors(spec: JobSpec, { mode, teeSelector: sealedBy, dutySelectors }: Terms): void {
  if ((mode & tee) !== 0) same('TERMS_SELECTORS', 'the verifier of seals', teeSelector, sealedBy);
  const duties = (mode & (full | sample | optimistic)) !== 0;
  const count = dutySelectors.length;
  demand('TERMS_SELECTORS', !duties || count > 0, 'a verifier of proofs', 'none');
  demand('TERMS_SELECTORS', count <= 1 && (count === 0 || spec.proving !== null), 'the one of the scheme', count);
  for (const one of dutySelectors) same('TERMS_SELECTORS', 'the verifier of the scheme', dutySelectorOf(spec), one);
}

function checkMoney(terms: Terms, { publishEstimate = 0n, answerMin = 0n }: TermsFacts): void {
  const { mode, stake, liveness, bond, bondFee, publishFee, failShareBps, holdbackBps, windows } = terms;
  const isRevealed = (mode & reveal) !== 0;
  demand('TERMS_LIVENESS', liveness <= stake, `at most the stake ${stake}`, liveness);
  demand('TERMS_LIVENESS', !isRevealed || liveness > 0n, 'something to lose for silence', liveness);
  demand('TERMS_BOND', bondFee > 0n && bondFee <= bond, `a fee of 1 to ${bond}`, bondFee);
  const isChallenged = terms.dutySelectors.length > 0 && (mode & (tee | optimistic)) !== 0 && (mode & full) === 0;
  const answered = bond - bondFee >= answerMin;
  demand('TERMS_BOND', !isChallenged || answered, `a bond of at least ${answerMin} above its fee`, bond - bondFee);
  const least = publishTimes * publishEstimate > 1n ? publishTimes * publishEstimate : 1n;
  demand('TERMS_PUBLISH', !isRevealed || publishFee >= least, `a fee of at least ${least}`, publishFee);
  demand('TERMS_SHARE', failShareBps <= bps && holdbackBps <= bps, `shares of at most ${bps}`, holdbackBps);
  const isWhole = isRevealed || windows.hold !== 0;
  demand('TERMS_SHARE', !isWhole || holdbackBps === bps, `the whole price held back: ${bps}`, holdbackBps);
}

/** That may be drawn of so many segments: what the contract takes, and no more than one transaction can hash. */
export function samplesMaxOf(segments: number): number {
  return Math.min(samplesPerSegment * segments, samplesMax);
}

function checkCounts(spec: JobSpec, terms: Terms): void {
  const { segments, samples, mode, unit, unitSegments, parts, providers } = terms;
  demand('TERMS_SEGMENTS', segments >= 1 && segments < bordersMax, `1 to ${bordersMax - 1} segments`, segments);
  const [steps, ofSegment] = [stepsOf(spec.manifest), spec.segmentSteps * workersOf(spec)];
  const all = Math.ceil(steps / ofSegment);
  demand('TERMS_SEGMENTS', segments === all, `${all} segments of ${ofSegment} steps, of ${steps}`, segments);
  const most = samplesMaxOf(segments);
  const fewer = 'ask for fewer samples, or for a proof of every segment';
  demand('TERMS_SAMPLES', samples <= most, `at most ${most} samples of ${segments} segments`, samples, fewer);
  demand('TERMS_SAMPLES', samples > 0 === ((mode & sample) !== 0), 'samples where the mode draws them', samples);
  const isSegment = unit === 0 && unitSegments === 1 && parts === 1 && isZero(providers);
  demand('TERMS_UNIT', isSegment, 'unit 0, 1 segment, 1 part, one provider', `${unit}, ${unitSegments}, ${parts}`);
}

function checkWindows({ mode, windows, dutySelectors }: Terms, facts: TermsFacts): void {
  const { greatest = {}, benchSeconds = 0, runSeconds = 0 } = facts;
  const used: (keyof Windows)[] = ['start', 'compute', 'challenge'];
  if (dutySelectors.length > 0) used.push('prove', 'provePer');
  if ((mode & sample) !== 0) used.push('draw', 'drawBlocks');
  if ((mode & reveal) !== 0) used.push('reveal', 'ack');
  for (const name of used) demand('TERMS_WINDOW', windows[name] > 0, `a window: ${name}`, windows[name]);
  for (const [name, length] of Object.entries(windows) as [keyof Windows, number][]) {
    const most = Math.min(windowEnd - 1, greatest[name] ?? windowEnd);
    demand('TERMS_WINDOW', length <= most, `at most ${most} in ${name}`, length);
  }
  const run = computeTimes * runSeconds;
  demand('TERMS_COMPUTE', windows.compute >= run, `at least ${run} seconds to compute`, windows.compute);
  if (dutySelectors.length === 0) return;
  const { prove, provePer } = windows;
  const first = proveSecondsMin + 2 * benchSeconds;
  demand('TERMS_PROVE', prove >= first, `at least ${first} seconds to prove`, prove);
  demand('TERMS_PROVE', provePer >= 2 * benchSeconds, `at least ${2 * benchSeconds} seconds a segment`, provePer);
}

function same(code: string, what: string, expected: Uint8Array, got: Uint8Array): void {
  demand(code, equalBytes(expected, got), `${what}: ${toHex(expected)}`, toHex(got));
}

function demand(
  code: string,
  holds: boolean,
  expected: string,
  got: string | number | bigint,
  action = 'offer terms that keep to the rules',
): void {
  if (holds) return;
  throw new Rejection(code, { expected, got: String(got), rule: 'contracts/SPEC.md §5', action });
}
