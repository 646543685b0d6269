/**
 * Whether an accuracy statement is about records and weights that one has: their commitments made anew from their seeds
 * (libs/proof/SPEC.md §9).
 */
import { equalBytes, Rejection, to0x } from '#attestation/base';
import { accuracyPartSeed, accuracyPlans, type AccuracyDocument } from '#libs/proof';
import {
  decodeWeights,
  idxBytesMax,
  manifestDigest,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  parseManifest,
  sliceExamples,
} from '#libs/step';
import { createCommitter, dataDigestOf, weightsDigestOf } from '#libs/zk/commit';
import { readBytes, readJson } from '../files/files.js';
import { readSecret } from '../files/secrets.js';

/** Paths; the seeds are of files of 64 hexadecimal digits. */
export interface RecordFiles {
  readonly images: string;
  readonly labels: string;
  readonly dataSeed: string;
}
export interface WeightFiles {
  readonly weights: string;
  readonly weightsSeed: string;
}

const rule = 'libs/proof/SPEC.md §9';

/**
 * @throws Rejection ACCURACY_COMMITMENT where the statement is about other records, in another order, or committed to under
 *   another seed; IDX_*, LABEL_RANGE, RECORDS_*; ConfigurationError FILE_*, SECRET_FILE
 */
export function requireRecords(document: AccuracyDocument, files: RecordFiles): void {
  const { manifest, parts } = document;
  const seed = readSecret(files.dataSeed);
  const [pixels, labels] = [
    parseIdxImages(readBytes(files.images, idxBytesMax)),
    parseIdxLabels(readBytes(files.labels, idxBytesMax)),
  ];
  const inOrder = Uint32Array.from({ length: labels.length }, (_, i) => i);
  const examples = orderExamples(manifest, pixels, labels, inOrder);
  const stated = parts.reduce((sum, { records }) => sum + records, 0);
  if (stated !== examples.count) refuseOther(`${examples.count} records`, `${stated} records`);
  const plans = accuracyPlans(document);
  // Each has a memory of its own, and parts of one size share a plan.
  const committers = new Map([...new Set(plans)].map((plan) => [plan, createCommitter(plan)]));
  let first = 0;
  plans.forEach((plan, k) => {
    const { records, data } = parts[k]!;
    const ofPart = sliceExamples(manifest, examples, first, records);
    const own = committers.get(plan)!.data(ofPart, accuracyPartSeed(seed, k, plan, ofPart));
    const [due, got] = [dataDigestOf(own, plan), dataDigestOf(data, plan)];
    if (!equalBytes(due, got)) refuseOther(`records ${first} to ${first + records - 1} as ${to0x(due)}`, to0x(got));
    first += records;
  });
}

/** @throws Rejection ACCURACY_MANIFEST where weights are read by another manifest, and so may class otherwise; MANIFEST_* */
export function requireManifest({ manifest }: AccuracyDocument, file: string): void {
  const [due, got] = [parseManifest(readJson(file)), manifest].map(manifestDigest);
  if (equalBytes(due!, got!)) return;
  throw new Rejection('ACCURACY_MANIFEST', {
    ...{ expected: `manifest ${to0x(due!)}`, got: to0x(got!), rule },
    action: 'ask for a statement under the manifest of your job',
  });
}

/** @throws Rejection ACCURACY_COMMITMENT likewise; WEIGHTS_*; ConfigurationError FILE_*, SECRET_FILE */
export function requireWeights(document: AccuracyDocument, files: WeightFiles): void {
  const [plan] = accuracyPlans(document);
  const weights = decodeWeights(document.manifest, readBytes(files.weights, idxBytesMax));
  const own = createCommitter(plan!).weights(weights, readSecret(files.weightsSeed));
  const [due, got] = [weightsDigestOf(own, plan!), weightsDigestOf(document.weights, plan!)];
  if (!equalBytes(due, got)) refuseOther(`weights as ${to0x(due)}`, to0x(got));
}

function refuseOther(expected: string, got: string): never {
  throw new Rejection('ACCURACY_COMMITMENT', {
    ...{ expected, got, rule },
    action: 'ask whoever made the statement for the files and seeds that it is about',
  });
}
