/** Proves how many records of a set weights class right, part by part (libs/proof/SPEC.md §9). */
import { randomBytes } from 'node:crypto';
import { Rejection } from '#attestation/base';
import { accuracyOuterDigest, accuracyPartSeed, encodeAccuracyBundle, type AccuracyDocument } from '#libs/proof';
import { datasetRoot, sliceExamples, type Examples, type Manifest, type Weights } from '#libs/step';
import { commitData, commitWeights, countRight, proveAccuracy, type Backend } from '#libs/zk';
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
 * Where fewer records are shown than are right, every part shows fewer, in proportion: one that is shown whole would tell how
 * many of its records are right.
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
    const seed = accuracyPartSeed(dataSeed, k, plan, records);
    const { commitment, ...opened } = commitData(backend, plan, records, seed);
    return { plan, records, seed, commitment, ...(k < keptMax && { openedData: { ...opened, commitment } }) };
  });
  const shown = sharesOf(
    correct,
    sets.map(({ plan, records }) => ({
      records: records.count,
      right: correct === Infinity ? Infinity : countRight(backend, plan, weights, records),
    })),
  );
  const setRoot = datasetRoot(sets.map(({ plan, commitment }) => dataDigestOf(commitment, plan)));
  const proved = sets.map(({ plan, records, seed, commitment: data, openedData }, k) => {
    const outerDigest = accuracyOuterDigest(jobId, setRoot, k);
    return proveAccuracy(
      backend,
      plan,
      {
        statement: { manifest, profile, outerDigest, records: records.count, data, weights: W.commitment },
        correctMax: shown[k]!,
        weights: { weights, seed: weightsSeed, opened: W },
        examples: records,
        dataSeed: seed,
        ...(openedData && { openedData }),
        secret,
      },
      (phase) => onPhase(phase, Math.round(10 + (88 * (k + phaseStarts[phase])) / sets.length)),
    );
  });
  return {
    bundle: encodeAccuracyBundle(proved.map(({ proof }) => proof)),
    document: {
      ...{ backend: 'accuracy', jobId, manifest, profile, weights: W.commitment },
      parts: proved.map(({ statement: { records, correct: shown, data } }) => ({ records, correct: shown, data })),
    },
  };
}

/** How many each part shows. @throws Rejection ACCURACY_COUNT where so many are not right */
export function sharesOf(asked: number, parts: readonly { readonly records: number; readonly right: number }[]) {
  if (asked === Infinity) return parts.map(() => Infinity);
  const total = parts.reduce((sum, { right }) => sum + right, 0);
  if (asked > total) refuseCount(asked, total);
  // In proportion to its records; what is over goes to parts that have more right ones, one by one.
  const count = parts.reduce((sum, { records }) => sum + records, 0);
  const shares = parts.map(({ records, right }) => Math.min(right, Math.floor((asked * records) / count)));
  let left = asked - shares.reduce((sum, share) => sum + share, 0);
  for (let k = 0; left > 0; k = (k + 1) % parts.length) {
    if (shares[k]! === parts[k]!.right) continue;
    shares[k]! += 1;
    left -= 1;
  }
  return shares;
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
