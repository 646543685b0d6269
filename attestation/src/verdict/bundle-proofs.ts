/** The step proofs of a bundle: that every segment which needs one has it, what they rest on, and which were to be made. */
import { toHex } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import type { CheckBook } from '../check/checks.js';
import type { BundledProof, BundledSegment } from '../records/bundle-parts.js';
import type { FormerTerms } from '../records/former-terms.js';
import type { JobSpec } from '../records/job-spec.js';
import type { RoundStatement } from '../records/round.js';
import { encodeStepStatement, type StepStatement } from '../records/step-statement.js';
import type { Terms } from '../records/terms.js';
import type { BundleCode } from './bundle-rules.js';
import type { Tick } from './progress.js';

export interface BundledJob {
  readonly spec: JobSpec;
  readonly terms: Terms | FormerTerms;
}

export interface ShownByProof {
  readonly statement: StepStatement;
  /** −log2 of the error of the weakest round. */
  readonly soundnessBits: number;
  /** `seed`: the segment is a job's first and starts from the weights of its manifest's seed. `given`: that is not shown. */
  readonly start: 'seed' | 'given';
  /** What must be trusted beside mathematics; absent: nothing. */
  readonly setup?: ProofSetup;
}

interface ProofSetup {
  /** In words. */
  readonly name: string;
  /** Whether the reader chose it: else it is whatever the bundle's maker chose. */
  readonly isReadersOwn: boolean;
}

/** @throws Rejection when the proof is not one of this segment of this job, or does not hold */
export type ProofVerifier = (job: BundledJob, index: number, proof: BundledProof) => ShownByProof;

/** weightsDigest of the weights that a job's manifest gives to start from: the reader computes it anew. */
export type StartOf = (job: BundledJob) => Uint8Array;

export interface ProofContext extends BundledJob {
  readonly segments: readonly BundledSegment[];
  readonly statements: readonly (StepStatement | RoundStatement)[];
}

interface ShownByProofs {
  readonly proved: number;
  readonly bits: number;
  readonly setups: readonly ProofSetup[];
}

/**
 * @param startOf asked where the proofs do not show that the first segment starts from the manifest's weights
 * @throws CollateralError BUNDLE_PROOFS without a verifier, or where nobody knows the start; Rejection BUNDLE_PROOFS and those
 *   of the verifier
 */
export async function checkProofs(
  { segments, spec, terms, statements }: ProofContext,
  verify: ProofVerifier | undefined,
  startOf: StartOf | undefined,
  tick: Tick,
): Promise<ShownByProofs> {
  const setups = new Map<string, ProofSetup>();
  let bits = Infinity;
  let proved = 0;
  let start: ShownByProof['start'] = 'given';
  const isNeeded = spec.assurance !== 'tee' || segments.some(({ proof }) => proof !== null);
  if (!isNeeded) return { proved, bits, setups: [] };
  if (verify === undefined) {
    const [expected, got] = ['a reader that has the verifier of step proofs', 'none'];
    throw new CollateralError('BUNDLE_PROOFS', { expected, got, rule });
  }
  for (const [index, { proof }] of segments.entries()) {
    if (proof === null && spec.assurance === 'sampled') continue;
    if (proof === null) throw mismatch(`a proof of segment ${index}`, 'none');
    const { statement, soundnessBits, setup, start: shown } = verify({ spec, terms }, index, proof);
    if (index === 0) start = shown;
    const [expected, got] = [statements[index]!, statement].map((one) => toHex(encodeStepStatement(one)));
    if (expected !== got) throw mismatch(expected!, got!);
    bits = Math.min(bits, soundnessBits);
    if (setup !== undefined) setups.set(setup.name, setup);
    proved++;
    await tick();
  }
  if (proved === 0) throw mismatch('a proof of every segment that was drawn', 'none');
  if (start === 'given') checkGivenStart({ spec, terms }, statements[0]!.weightsBefore, startOf);
  return { proved, bits, setups: [...setups.values()] };
}

/** From weights out of their range proofs show nothing (libs/zk/SPEC.md §2.2, A1). */
function checkGivenStart(job: BundledJob, got: Uint8Array, startOf: StartOf | undefined): void {
  if (startOf === undefined) {
    const expected =
      'a first segment that is proved to start from the weights of the manifest, or a reader that computes them';
    throw new CollateralError('BUNDLE_PROOFS', { expected, got: 'neither', rule });
  }
  const expected = toHex(startOf(job));
  if (expected !== toHex(got)) throw mismatch(`start weights ${expected}`, toHex(got));
}

export function shownByProofs({ proved, bits }: ShownByProofs): string {
  return proved === 0 ? 'none demanded' : `${proved} proofs of at least ${bits.toFixed(1)} bits`;
}

/** A key that nobody but the bundle's maker chose shows no more than that the maker has it: whoever made it can forge. */
export function checkSetup(book: CheckBook<BundleCode>, setups: readonly ProofSetup[]): void {
  if (setups.length === 0) return book.drop('BUNDLE_SETUP');
  const got = setups.map(({ name }) => name).join(', ');
  book.settle('BUNDLE_SETUP', setups.every(({ isReadersOwn }) => isReadersOwn) ? 'met' : 'warned', got);
}

/** Which segments were to be proved the chain drew: a file alone says which are. */
export function checkSample(
  book: CheckBook<BundleCode>,
  { spec, segments }: ProofContext,
  drawn: readonly number[] | undefined,
): void {
  if (spec.assurance !== 'sampled') return book.drop('BUNDLE_SAMPLE');
  const proved = segments.flatMap(({ proof }, index) => (proof === null ? [] : [index]));
  const got = `${proved.length} of ${segments.length} segments are proved: ${proved.slice(0, 16).join(', ')}`;
  const expected = drawn && `proofs of ${[...new Set(drawn)].sort((a, b) => a - b).join(', ')}`;
  const isMet = drawn !== undefined && drawn.length > 0 && drawn.every((index) => proved.includes(index));
  if (drawn === undefined) book.settle('BUNDLE_SAMPLE', 'warned', got);
  else book.settle('BUNDLE_SAMPLE', isMet ? 'met' : 'forged', got, expected);
}

const rule = 'attestation/SPEC.md, bundle';

function mismatch(expected: string, got: string): Rejection {
  return new Rejection('BUNDLE_PROOFS', { expected, got, rule });
}
