/** Proves how many records of a set weights class right, part by part (libs/proof/SPEC.md §9). */
import { randomBytes } from 'node:crypto';
import { Rejection } from '#attestation/base';
import { accuracyOuterDigest, accuracyPartSeed, encodeAccuracyBundle, type AccuracyDocument } from '#libs/proof';
import { datasetRoot, sliceExamples, type Examples, type Manifest, type Weights } from '#libs/step';
import { commitData, commitWeights, proveAccuracy, type Backend } from '#libs/zk';
import { dataDigestOf, type Plan } from '#libs/zk/verifier';

interface Parts {
  readonly manifest: Manifest;
  /** Of each part of the set, in order. */
  readonly plans: readonly Plan[];
  readonly weights: Weights;
  readonly examples: Examples;
  /** 32 secret bytes each. */
  readonly weightsSeed: Uint8Array;
  readonly dataSeed: Uint8Array;
  /** How many records to show right; absent: all that are. */
  readonly correct?: number | undefined;
}

interface ProvedParts {
  readonly bundle: Uint8Array;
  readonly document: AccuracyDocument;
}

/** Commitments that are kept ready to be opened; a few, for they are large. */
const keptMax = 4;

/**
 * Where fewer records are shown than are right, it is the last parts that show fewer.
 *
 * @param onPhase called when a phase begins, with the percentage that is done
 * @throws Rejection ACCURACY_COUNT; GuardViolation GUARD_VIOLATION; ConfigurationError ZK_MEMORY_EXCEEDED
 */
export function proveParts(
  backend: Backend,
  { manifest, plans, weights, examples, weightsSeed, dataSeed, correct = Infinity }: Parts,
  onPhase: (phase: string, percent: number) => void,
): ProvedParts {
  const profile = plans[0]!.profile.name;
  const [secret, jobId] = [new Uint8Array(randomBytes(32)), new Uint8Array(32)];
  onPhase('commit weights', 1);
  const W = commitWeights(backend, plans[0]!, weights, weightsSeed);
  onPhase('commit data', 2);
  let first = 0;
  const sets = plans.map((plan, k) => {
    const records = sliceExamples(manifest, examples, first, plan.shape.batch);
    first += records.count;
    const seed = accuracyPartSeed(dataSeed, k);
    const { commitment, ...opened } = commitData(backend, plan, records, seed);
    return { plan, records, seed, commitment, ...(k < keptMax && { openedData: { ...opened, commitment } }) };
  });
  const setRoot = datasetRoot(sets.map(({ plan, commitment }) => dataDigestOf(commitment, plan)));
  let left = correct;
  const proved = sets.map(({ plan, records, seed, commitment: data, openedData }, k) => {
    const outerDigest = accuracyOuterDigest(jobId, setRoot, k);
    const made = proveAccuracy(
      backend,
      plan,
      {
        statement: { manifest, profile, outerDigest, records: records.count, data, weights: W.commitment },
        correctMax: left,
        weights: { weights, seed: weightsSeed, opened: W },
        examples: records,
        dataSeed: seed,
        ...(openedData && { openedData }),
        secret,
      },
      (phase) => onPhase(phase, Math.round(10 + (88 * (k + phaseStarts[phase])) / sets.length)),
    );
    left -= made.statement.correct;
    return made;
  });
  if (correct !== Infinity && left > 0) refuseCount(correct, correct - left);
  return {
    bundle: encodeAccuracyBundle(proved.map(({ proof }) => proof)),
    document: {
      ...{ backend: 'accuracy', jobId, manifest, profile, weights: W.commitment },
      parts: proved.map(({ statement: { records, correct: shown, data } }) => ({ records, correct: shown, data })),
    },
  };
}

/** Share of a part's proving time at which a phase begins, as measured on 784-64-10. */
const phaseStarts = { execute: 0, commit: 0.15, prove: 0.35 } as const;

function refuseCount(asked: number, right: number): never {
  throw new Rejection('ACCURACY_COUNT', {
    expected: `at most ${right} records, which are those that the weights class right`,
    got: String(asked),
    rule: 'libs/zk/SPEC.md §21',
    action: 'ask for fewer',
  });
}
