/** Whether the run that a delivery tells of is the one that its borders and its result give. */
import { fromHex, to0x } from '#attestation/base';
import { bordersRoot, deliveryDigest, JobMode, workersOf, type JobSpec, type Terms } from '#attestation/records';
import type { LeaseDeliver } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';

type DeliveredRun = LeaseDeliver['run'];
/** `Run.outcome` of a job that the manifest's rule has ended, contracts/SPEC.md §3. */
export const stoppedByRule = 3;

/** Steps that must be signed for: all of the job's, or those of the segments that were trained before the rule stopped it. */
export function deliveredSteps(
  spec: Pick<JobSpec, 'segmentSteps' | 'parallel'>,
  steps: number,
  { outcome, upTo }: Pick<DeliveredRun, 'outcome' | 'upTo'>,
): number {
  return outcome === stoppedByRule ? upTo * spec.segmentSteps * workersOf(spec) : steps;
}

/**
 * That an early stop is one by the rule, the client sees in the bundle; here counts what the terms allow.
 * @throws Rejection DELIVERY_RUN when the run that the seal covers is not the run of these borders and this result
 */
export function checkDeliveredRun(
  { run, borders, result }: Pick<LeaseDeliver, 'run' | 'borders' | 'result'>,
  { mode, segments: all }: Pick<Terms, 'mode' | 'segments'>,
): void {
  const root = to0x(bordersRoot(borders.map(fromHex)));
  const segments = borders.length - 1;
  const isEarly = (mode & JobMode.early) !== 0 && segments > 0 && segments < all;
  const isRevealed = (mode & JobMode.reveal) !== 0;
  const committed = [result.ciphertextDigest, result.keyCommit].map(fromHex) as [Uint8Array, Uint8Array];
  const delivery = to0x(isRevealed ? deliveryDigest(...committed) : new Uint8Array(32));
  const outcome = isEarly ? stoppedByRule : 0;
  const expected = { upTo: segments, outcome, bordersRoot: root, last: borders[segments], delivery };
  const wrong = Object.entries(expected).find(([name, value]) => run[name as keyof typeof run] !== value);
  if (wrong === undefined) return;
  const [name, value] = wrong;
  throw refusal('DELIVERY_RUN', {
    expected: `${name} ${value}`,
    got: String(run[name as keyof typeof run]),
    rule: 'contracts/SPEC.md §3, §12',
  });
}
