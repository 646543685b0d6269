/** How many records of IDX files given weights class right, proved in zero knowledge: the work of prove-main.ts without its process. */
import { randomBytes } from 'node:crypto';
import { fromHex, Rejection, to0x } from '#attestation/base';
import { accuracyParts, accuracyText, verifyAccuracyBundle } from '#libs/proof';
import { checkBounds, decodeWeights, parseManifest, stateDigest } from '#libs/step';
import { openingBudget } from '#libs/zk/verifier';
import { loadExamples, readLimited } from './files.js';
import { proveParts } from './prove-parts.js';
import { withProver } from './prover.js';
import type { Progress, ProofFigures } from './report.js';
import type { AccuracyRequest } from './request.js';

interface AccuracyReport extends ProofFigures {
  readonly backend: 'accuracy';
  readonly records: number;
  /** So many are proved right. */
  readonly correct: number;
  readonly parts: number;
  /** weightsDigest of the weights, and the Merkle root of the set's dataDigests. */
  readonly weightsDigest: string;
  readonly setRoot: string;
  readonly stateDigest: string;
  /** Proofs that may open the commitment to the weights in all, and those of this bundle. */
  readonly openings: { readonly budget: number; readonly weights: number };
}

interface ProvedAccuracy {
  readonly report: AccuracyReport;
  readonly proof: Uint8Array;
  readonly statement: string;
}

/** @throws Rejection, ConfigurationError */
export async function proveAccuracyFiles(
  request: AccuracyRequest,
  onProgress: (progress: Progress) => void,
): Promise<ProvedAccuracy> {
  const manifest = parseManifest(request.manifest);
  checkBounds(manifest, 'proved');
  onProgress({ phase: 'load', percent: 0 });
  const examples = await loadExamples(manifest, request, (count) => Uint32Array.from({ length: count }, (_, i) => i));
  const weights = decodeWeights(manifest, await readLimited(request.weights));
  const plans = accuracyParts(manifest, request.profile, examples.count, request.weightsSeed !== undefined);
  if (request.weightsSeed !== undefined && request.profile === 'auto') {
    throw new Rejection('PROVE_REQUEST', {
      ...{ expected: 'a profile by name with a seed of weights', got: 'auto', rule: 'prover worker, request' },
      action: 'name the profile of the commitment that the seed opens: one seed is of one commitment',
    });
  }
  const [weightsSeed, dataSeed] = [await seedOf(request.weightsSeed), await seedOf(request.dataSeed)];
  const job = { manifest, plans, weights, examples, weightsSeed, dataSeed, correct: request.correct };
  return withProver(plans[0]!, request, onProgress, ({ backend, prove }) => {
    const { made, verified, figures } = prove(
      (onPhase) => proveParts(backend, job, onPhase),
      ({ bundle, document }) => verifyAccuracyBundle(bundle, document),
    );
    const report: AccuracyReport = {
      ...{ backend: 'accuracy', ...figures, records: verified.records, correct: verified.correct },
      ...{ parts: plans.length, weightsDigest: to0x(verified.weights), setRoot: to0x(verified.setRoot) },
      stateDigest: to0x(stateDigest(manifest, weights)),
      openings: { budget: openingBudget(plans[0]!.profile), weights: plans.length },
    };
    return { report, proof: made.bundle, statement: accuracyText(made.document) };
  });
}

/** @throws Rejection PROVE_REQUEST for a file that does not hold 64 hexadecimal digits */
async function seedOf(path: string | undefined): Promise<Uint8Array> {
  if (path === undefined) return new Uint8Array(randomBytes(32));
  const text = Buffer.from(await readLimited(path))
    .toString('latin1')
    .trim();
  if (/^(0x)?[0-9a-f]{64}$/.test(text)) return fromHex(text);
  throw new Rejection('PROVE_REQUEST', {
    ...{ expected: 'a seed of 64 lower-case hexadecimal digits', got: path, rule: 'prover worker, request' },
  });
}
