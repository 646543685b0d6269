/**
 * The whole verdict on a bundle, the same for a page and the command line: what `verifyBundle` says with step proofs, and
 * whether the run starts where its manifest says.
 */
import {
  openChecks,
  verifyBundle,
  type BundledJob,
  type BundleRequest,
  type BundleVerdict,
  type Check,
  type CheckRule,
  type ProofVerifier,
  type ShownByProof,
} from '#attestation';
import { CodedError, Rejection, toHex } from '#attestation/base';
import { decodeFormerTerms, decodeTerms, parseJobSpec, type JobSpec } from '#attestation/records';
import { verificationKeyOf, verifyBundledProofUnder, type Groth16Key } from '#libs/proof';
import { isNet, parseJobManifestText } from '#libs/step';
import { explained } from './not-a-bundle.js';
import { startBorder } from './start.js';

export type { BundleVerdict };

/** What a bundle is judged by, the same at every time. */
interface ReviewedBundle extends Pick<BundleRequest, 'bundle'> {
  /** Weights that the job starts from, where its manifest names some. */
  readonly start?: Uint8Array;
  /** Whether Groth16 keys that one machine made are good enough; they are not where absent. */
  readonly takesDevelopmentKeys?: boolean;
  /** Digest of the only Groth16 key that is taken. */
  readonly verificationKey?: Uint8Array;
  /** The only one that is taken, as the reader has it. */
  readonly groth16Key?: Groth16Key;
}

type Asked = Pick<BundleRequest, 'at' | 'logExport' | 'logPolicy' | 'material' | 'policy' | 'progress'>;

/** @throws Rejection where the file is no bundle at all; an unfavourable verdict is a result */
export function reviewBundle(request: ReviewedBundle & Asked): Promise<BundleVerdict> {
  const { start: _start, takesDevelopmentKeys: _taken, verificationKey: _digest, groth16Key: _key, ...asked } = request;
  return openReview(request)(asked);
}

/** For several judgements of one bundle: step proofs and start weights, which know no time, are computed once. */
export function openReview(of: ReviewedBundle): (asked?: Asked) => Promise<BundleVerdict> {
  const { bundle, start: given = null, takesDevelopmentKeys = false, groth16Key } = of;
  const shownBy: ProofVerifier = (job, index, proof) => {
    const own = groth16Key && verificationKeyOf(job.spec, groth16Key);
    const verificationKey = own ?? of.verificationKey;
    return verifyBundledProofUnder({ takesDevelopmentKeys, verificationKey })(job, index, proof);
  };
  const proofs = new Map<number, () => ShownByProof>();
  let border: (() => Uint8Array) | undefined;
  const startOf = (job: Pick<BundledJob, 'spec'>): Uint8Array =>
    (border ??= remembered(() => startBorder(job, given)))();
  return async (asked = {}) => {
    const verdict = await verifyBundle({
      ...{ ...asked, bundle, startOf },
      proofs: (job, index, proof) => {
        const shown = proofs.get(index) ?? remembered(() => shownBy(job, index, proof));
        proofs.set(index, shown);
        return shown();
      },
    }).catch((error: unknown) => {
      throw explained(bundle, error);
    });
    const start = await checkStart(verdict, given, startOf);
    const tier = start.status === 'forged' ? 'contraindicated' : verdict.tier;
    const notChecked = [...verdict.notChecked, ...(start.status === 'not-checked' ? [startNotCompared] : [])];
    return { ...verdict, tier, notChecked, checks: [start, ...verdict.checks] };
  };
}

/** What a computation came to, or failed with, for every further call. */
function remembered<T>(compute: () => T): () => T {
  let outcome: () => T;
  try {
    const value = compute();
    outcome = () => value;
  } catch (error) {
    outcome = () => {
      throw error;
    };
  }
  return outcome;
}

/** In `notChecked` of a job whose manifest names weights, where the reader gave none. */
const startNotCompared = 'whether the start weights are those that the manifest names';

const seeded: CheckRule = {
  claim: 'executables',
  expected: '',
  rule: "The run starts from the weights that the manifest's seed gives, or that it names.",
  source: 'libs/step/SPEC.md §9',
  action: 'do not rely on this bundle: the start weights are not the announced ones',
};

const named: CheckRule = {
  ...seeded,
  rule: 'The run starts from the weights that the manifest names; the enclave compared their root before it trained.',
  source: 'libs/step/SPEC.md §25',
  action: 'give the file of the start weights (--start) to compare them here too',
};

/** The escrow's start weights are those that the manifest's seed gives, or that it names (libs/step/SPEC.md §9, §25). */
async function checkStart(
  { bundle }: BundleVerdict,
  start: Uint8Array | null,
  startOf: (job: Pick<BundledJob, 'spec'>) => Uint8Array,
): Promise<Check> {
  const spec = parseJobSpec(bundle.spec);
  const root = start === null ? namedRoot(spec) : null;
  const got = toHex(termsOf(bundle.terms).initialWeights);
  const book = openChecks({ BUNDLE_START: root === null ? seeded : named });
  if (root !== null) book.settle('BUNDLE_START', 'not-checked', got, `the weights with root ${root}`);
  else await book.attempt('BUNDLE_START', () => agreed(toHex(startOf({ spec })), got));
  return { ...book.checks()[0]!, subject: 'bundle' };
}

/** Null where the manifest's seed draws the weights, or nobody can read it. */
function namedRoot({ manifest }: JobSpec): string | null {
  try {
    const read = parseJobManifestText(manifest);
    return isNet(read) && read.start.kind === 'weights' ? read.start.root : null;
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}

/** @throws Rejection BUNDLE_START */
function agreed(expected: string, got: string): string {
  if (got === expected) return got;
  throw new Rejection('BUNDLE_START', { expected, got, rule: seeded.source });
}

/** Of whatever version. @throws Rejection TERMS_* for what is neither */
export function termsOf(terms: Uint8Array): ReturnType<typeof decodeTerms> | ReturnType<typeof decodeFormerTerms> {
  return termsVersion(terms) === 'present' ? decodeTerms(terms) : decodeFormerTerms(terms);
}

/** @throws Rejection TERMS_* for what is neither */
function termsVersion(terms: Uint8Array): 'present' | 'former' {
  try {
    decodeTerms(terms);
    return 'present';
  } catch (error) {
    if (error instanceof Rejection && error.code === 'TERMS_VERSION') return 'former';
    throw error;
  }
}
