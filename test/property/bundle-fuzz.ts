/**
 * Mutates a bundle of two sessions, one of a data-parallel job, one of a job that stopped early and those of former versions
 * by a seed, as bytes and leaf by leaf, and hands them to the verifier: none affirms unless it differs only in what nothing binds, and none makes it crash.
 */
import { readFileSync } from 'node:fs';
import { decodePolicy, verifyBundle, type AppraisalPolicy, type BundleVerdict } from '#attestation';
import { decodeCanonical, toHex } from '#attestation/base';
import { encodeBundle, parseBundle } from '#attestation/records';
import { differences } from '#test/differences';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { fixturePath } from '#test/fixture';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyRoundBundle } from '#test/tiny-round-bundle';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import { cborMutant } from './tree-mutants.js';

type VerifyBundle = (request: {
  readonly bundle: Uint8Array;
  readonly policy: AppraisalPolicy;
}) => Promise<Pick<BundleVerdict, 'tier'>>;

interface Genuine {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly policy: AppraisalPolicy;
  readonly verdict: BundleVerdict;
}

async function genuine(name: string, bytes: Uint8Array, policy = decodePolicy(parseBundle(bytes).policy)) {
  const verdict = await verifyBundle({ bundle: bytes, policy });
  if (verdict.tier !== 'warning') throw new Error(`${name}: the genuine bundle is ${verdict.tier}`);
  return { name, bytes, policy, verdict };
}

async function genuineBundles(): Promise<readonly [Genuine, ...Genuine[]]> {
  const [two, rounds] = [await tinyBundle(), await tinyRoundBundle()];
  const stop = { metric: 'accuracy', patience: 1, minimum: 10 } as const;
  const stopped = await evaluatedBundle({ every: 4, stop, accuracies: [700, 795, 790, 999, 999] });
  const former = (version: number): Uint8Array =>
    new Uint8Array(readFileSync(fixturePath(`former-bundles/version-${version}.cbor`)));
  return [
    await genuine('bundle', two.encoded, two.job.policy),
    await genuine('bundle of rounds', encodeBundle(rounds.bundle), rounds.job.policy),
    await genuine('bundle of an early stop', encodeBundle(stopped.bundle), stopped.job.policy),
    await genuine('bundle of version 1', former(1)),
    await genuine('bundle of version 3', former(3)),
  ];
}

/**
 * What nothing binds in the present version (attestation/SPEC.md §9.8): the time within its bounds, transactions, and
 * endorsements that no appraisal uses; these bundles need none. A former one's are in its verdict.
 */
const unbound = /^(sessions\[\d+\]\.appraisedAt|settlement(\.|$)|endorsements(\.|$))/;

function onlyUnboundDiffers({ bytes, verdict }: Genuine, mutant: Uint8Array): boolean {
  const paths = differences(parseBundle(bytes), parseBundle(mutant));
  return paths.every((path) => unbound.test(path) || verdict.notChecked.some((part) => path.startsWith(part)));
}

/** @param count mutants, half of bytes and half of leaves; @param verify the verifier */
export async function fuzzBundles(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  verify: VerifyBundle = verifyBundle,
): Promise<FuzzReport> {
  const bundles = await genuineBundles();
  const trees = new Map(bundles.map((one) => [one, decodeCanonical(one.bytes)]));
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const one = bundles[draw(bundles.length)]!;
    const other = bundles[draw(bundles.length)]!;
    const mutant = k % 2 === 0 ? mutantOf(one.bytes, draw, other.bytes) : cborMutant(trees.get(one)!, one.bytes, draw);
    const verdictOn = async (): Promise<Verdict> => {
      const { tier } = await verify({ bundle: mutant, policy: one.policy });
      if (tier !== 'affirming' && tier !== 'warning') return 'refused';
      return onlyUnboundDiffers(one, mutant) ? 'taken' : 'accepted';
    };
    return { target: one.name, input: () => toHex(mutant), run: () => judged(verdictOn, (verdict) => verdict) };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
