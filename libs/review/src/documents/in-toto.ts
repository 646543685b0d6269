/** in-toto Statement v1 whose subject is the exported model (github.com/in-toto/attestation, spec/v1). */
import type { ModelFile } from './model-files.js';
import type { Training } from './training.js';

export const statementType = 'https://in-toto.io/Statement/v1';
/** Of this project; shape: libs/review/DOCUMENTS.md. */
const trainingPredicate = 'urn:veritrain:predicate:training:v1';

interface Subject {
  readonly name: string;
  readonly digest: Readonly<Record<string, string>>;
}

export interface Statement {
  readonly _type: typeof statementType;
  readonly subject: readonly Subject[];
  readonly predicateType: string;
  readonly predicate: object;
}

/** Without files the subject is the commitment to the weights, under a digest name of this project. */
export function subjectsOf({ weights }: Training, files: readonly ModelFile[]): readonly Subject[] {
  if (files.length === 0) return [{ name: 'weights', digest: { veritrainWeights: weights.value } }];
  return files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }));
}

export function trainingStatement(training: Training, files: readonly ModelFile[]): Statement {
  const { assurance, bundle, dataset, evaluations, jobId, machines, manifest, segments, verdict, weights, work } =
    training;
  return {
    _type: statementType,
    subject: subjectsOf(training, files),
    predicateType: trainingPredicate,
    predicate: {
      bundle: { uri: `urn:veritrain:job:${jobId}`, digest: { sha256: bundle.sha256 } },
      verdict: { heading: verdict.heading, tier: verdict.tier, simulated: verdict.simulated },
      ...{ jobId, assurance, segments, weights, dataset },
      manifest: { value: JSON.parse(manifest.value) as unknown, basis: manifest.basis },
      ...(work && { work }),
      ...(evaluations && { evaluations }),
      machines,
      ...(files.length > 0 && {
        files: { basis: 'declared', note: 'Export the delivered weights again and compare the digests of the files.' },
      }),
    },
  };
}
