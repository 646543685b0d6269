/** A job for an enclave whose escrow takes proofs where no seal comes: what its bundle must hold, and what it may lack. */
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle, type BundleVerdict, type Check, type ProofVerifier, type StartOf } from '#attestation';
import { encodeBundle, encodeTerms, JobMode, parseStepStatement, type EvidenceBundle } from '#attestation/records';
import { zkSelector } from '#libs/settlement';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyDataset, tinyManifest, type TinyJob } from '#test/tiny-job';

/** Shows the statement that it is given as its bytes: what proofs show is the verifier's own matter. */
const shows: ProofVerifier = (_job, _index, { bytes }) => ({
  statement: parseStepStatement(bytes),
  soundnessBits: 100,
  start: 'seed',
});
const windows = {
  ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 3600 },
  ...{ hold: 0, reveal: 0, ack: 0, drawBlocks: 0 },
};
const either = { mode: JobMode.tee, dutySelectors: [zkSelector], windows };
const manifest = tinyManifest({ superblock: 2, steps: 12 });

async function lapsing(): Promise<{ job: TinyJob; bundle: EvidenceBundle }> {
  const dataset = await tinyDataset(manifest, { proving: 'fast16' });
  return tinyBundle({ manifest, dataset, segmentSteps: 4, terms: either });
}

type Change = (bundle: EvidenceBundle) => EvidenceBundle;

/** From this segment on there are no receipts; without a seal. */
const lapsedAt =
  (from: number, provedFrom = 0): Change =>
  (bundle) => ({
    ...bundle,
    seal: null,
    run: { ...bundle.run, keys: new Uint8Array(32) },
    segments: bundle.segments.map(({ statement, signed, partials }, index) => ({
      ...{ statement, partials },
      signed: index < from ? signed : null,
      proof: index < provedFrom ? null : { bytes: statement, document: '' },
    })),
  });

let made: Awaited<ReturnType<typeof lapsing>>;
beforeAll(async () => {
  made = await lapsing();
}, 240_000);

/** Simulated hardware is a warning, and what a file alone cannot show is no reason against it. */
const isUnmet = ({ code, status }: Check): boolean =>
  status !== 'met' && status !== 'warned' && code !== 'BUNDLE_TRANSACTIONS';

async function judged(change: Change): Promise<BundleVerdict & { unmet: string[] }> {
  const { job, bundle } = made;
  const verdict = await verifyBundle({ bundle: encodeBundle(change(bundle)), policy: job.policy, proofs: shows });
  return { ...verdict, unmet: verdict.checks.filter(isUnmet).map(({ code }) => code) };
}

describe('such a bundle', () => {
  it('affirms sealed as it is, and says that all segments are signed', async () => {
    const { tier, segments } = await judged((bundle) => bundle);
    expect(tier).toBe('warning');
    expect(segments.map(({ isSigned, isProved }) => [isSigned, isProved])).toEqual([
      [true, false],
      [true, false],
      [true, false],
    ]);
  });

  it('affirms without a seal where every segment is proved, and says which the enclave signed', async () => {
    for (const from of [0, 1, 2]) {
      const { tier, segments, unmet } = await judged(lapsedAt(from));
      expect([from, tier, unmet]).toEqual([from, 'warning', []]);
      expect(segments.map(({ isSigned }) => isSigned)).toEqual([0, 1, 2].map((index) => index < from));
      expect(segments.every(({ isProved }) => isProved)).toBe(true);
    }
  });

  describe('Z-L1 whose first proof does not show where it starts', () => {
    const given: ProofVerifier = (...proof) => ({ ...shows(...proof), start: 'given' });
    const judge = async (startOf?: StartOf) => {
      const { job, bundle } = made;
      const request = { bundle: encodeBundle(lapsedAt(0)(bundle)), policy: job.policy, proofs: given };
      const { tier, checks } = await verifyBundle({ ...request, ...(startOf && { startOf }) });
      return { tier, code: checks.find(isUnmet)?.code };
    };

    it('Z-L1 affirms for a reader who computes the start, and for nobody else', async () => {
      expect(await judge(({ terms }) => terms.initialWeights)).toEqual({ tier: 'warning', code: undefined });
      expect(await judge()).toEqual({ tier: 'none', code: 'BUNDLE_PROOFS' });
    });

    it('Z-L1 is refused where the start is another', async () => {
      const elsewhere = await judge(() => new Uint8Array(32));
      expect(elsewhere).toEqual({ tier: 'contraindicated', code: 'BUNDLE_PROOFS' });
    });
  });

  it.each<[string, string, Change]>([
    ['BUNDLE_PROOFS', 'without a seal, with a signed segment that nobody proved', lapsedAt(2, 1)],
    [
      'BUNDLE_SEAL',
      'without a seal, with no proof at all',
      (bundle) => ({ ...bundle, seal: null, run: { ...bundle.run, keys: new Uint8Array(32) } }),
    ],
    [
      'BUNDLE_RECEIPTS',
      'sealed, with a segment that has neither receipt nor proof',
      (bundle) => ({ ...bundle, segments: lapsedAt(2, 3)(bundle).segments }),
    ],
    [
      'BUNDLE_PROOFS',
      'with the proof of another segment',
      (bundle) => {
        const lapsed = lapsedAt(1)(bundle);
        const segments = lapsed.segments.map((segment, index) =>
          index === 2 ? { ...segment, proof: lapsed.segments[1]!.proof } : segment,
        );
        return { ...lapsed, segments };
      },
    ],
  ])('is refused by %s %s', async (code, _, change) => {
    const { tier, unmet } = await judged(change);
    expect(tier).toBe('contraindicated');
    expect(unmet).toContain(code);
  });

  it.each([
    ['a delivery that the payment reveals', { mode: JobMode.tee | JobMode.reveal, dutySelectors: [zkSelector] }],
    ['no verifier of proofs', { mode: JobMode.tee, dutySelectors: [] }],
    ['proofs beside the seal', { mode: JobMode.tee | JobMode.full, dutySelectors: [zkSelector] }],
  ])('is refused where the escrow agreed to %s: only a seal makes that run good', async (_, terms) => {
    const other: Change = (bundle) => ({ ...lapsedAt(1)(bundle), terms: encodeTerms({ ...made.job.terms, ...terms }) });
    const { tier, unmet } = await judged(other);
    expect(tier).toBe('contraindicated');
    expect(unmet).toEqual(expect.arrayContaining(['BUNDLE_RECEIPTS', 'BUNDLE_SEAL']));
  });
});
