/** Bundles of data-parallel jobs: what was changed, left out, doubled, swapped or said of another round is found out offline. */
import { describe, expect, it } from 'vitest';
import { verifyBundle, type Check } from '#attestation';
import {
  encodeBundle,
  encodeJobSpec,
  encodeRoundStatement,
  parseBundle,
  parseRoundStatement,
  type EvidenceBundle,
} from '#attestation/records';
import { dishonestRounds, tinyRoundBundle, type Saying } from '#test/tiny-round-bundle';

const made = await tinyRoundBundle();
const { job, bundle } = made;
const foreign = await tinyRoundBundle({ spec: { salt: new Uint8Array(32) } });
const word = new Uint8Array(32).fill(9);

/** Simulated hardware is a warning, and what a file alone cannot show is no reason against it. */
const isUnmet = ({ code, status }: Check): boolean =>
  status !== 'met' && status !== 'warned' && code !== 'BUNDLE_TRANSACTIONS';

async function unmet(forged: EvidenceBundle): Promise<readonly string[]> {
  const { tier, checks } = await verifyBundle({ bundle: encodeBundle(forged), policy: job.policy });
  const failed = checks.filter(isUnmet).map(({ code }) => code);
  expect(tier === 'warning').toBe(failed.length === 0);
  return failed;
}

type Round = EvidenceBundle['segments'][number];
const withRound = (at: number, change: (round: Round) => Partial<Round>): EvidenceBundle => ({
  ...bundle,
  segments: bundle.segments.map((round, i) => (i === at ? { ...round, ...change(round) } : round)),
});
const [first, second] = bundle.segments as [Round, Round];

describe('a bundle of rounds', () => {
  it('affirms as it was made, and parses to what it was made of', async () => {
    const encoded = encodeBundle(bundle);
    const verdict = await verifyBundle({ bundle: encoded, policy: job.policy });
    expect(verdict).toMatchObject({ tier: 'warning', steps: 24 });
    expect(verdict.checks.find(({ rule }) => rule.startsWith('Each round'))).toMatchObject({
      got: '3 rounds of 2 workers',
    });
    expect(encodeBundle(parseBundle(encoded))).toEqual(encoded);
  });

  it.each<[string, string, EvidenceBundle]>([
    ['a partial missing', 'ROUND_PARTIALS', withRound(0, ({ partials }) => ({ partials: partials.slice(1) }))],
    ['no partials', 'ROUND_PARTIALS', withRound(1, () => ({ partials: [] }))],
    ['a partial twice', 'ROUND_PARTIALS', withRound(0, ({ partials: [one] }) => ({ partials: [one!, one!] }))],
    ['two swapped', 'ROUND_PARTIALS', withRound(2, ({ partials }) => ({ partials: partials.toReversed() }))],
    ['partials of another round', 'ROUND_PARTIALS', withRound(0, () => ({ partials: second.partials }))],
    [
      'partials of another job',
      'ROUND_PARTIALS',
      withRound(0, () => ({ partials: foreign.bundle.segments[0]!.partials })),
    ],
    [
      'a partial by another session',
      'COSE_KEY_ID',
      withRound(0, ({ partials: [one, two] }) => ({
        partials: [one!, { ...two!, session: 0 }],
      })),
    ],
    [
      'a session that is not there',
      'BUNDLE_SESSION_INDEX',
      withRound(0, ({ partials: [one, two] }) => ({
        partials: [one!, { ...two!, session: 7 }],
      })),
    ],
    [
      'a round by another session',
      'COSE_KEY_ID',
      withRound(0, ({ signed }) => ({ signed: { ...signed!, session: 1 } })),
    ],
    ['a round’s receipt of another round', 'RECEIPT_STATEMENT', withRound(0, () => ({ signed: second.signed }))],
    [
      'a partial’s receipt for its round',
      'COSE_CONTENT_TYPE',
      withRound(0, ({ partials }) => ({ signed: { session: 0, receipt: partials[0]!.receipt } })),
    ],
    [
      'a mutated average',
      'RECEIPT_STATEMENT',
      withRound(1, ({ statement }) => ({
        statement: encodeRoundStatement({ ...parseRoundStatement(statement), weightsAfter: word }),
      })),
    ],
    ['a round missing', 'BUNDLE_CHAIN', { ...bundle, segments: bundle.segments.slice(1) }],
    ['a round twice', 'BUNDLE_CHAIN', { ...bundle, segments: [first, ...bundle.segments] }],
    ['rounds swapped', 'BUNDLE_CHAIN', { ...bundle, segments: bundle.segments.toReversed() }],
    ['rounds of another job', 'BUNDLE_CHAIN', { ...bundle, segments: foreign.bundle.segments }],
  ])('with %s is refused, among others by %s', async (_, code, forged) => {
    expect(await unmet(forged)).toContain(code);
  });

  it('of a plain job’s form, or for a spec of one worker, is refused', async () => {
    const segments = bundle.segments.map((round) => ({ ...round, partials: [] }));
    expect(await unmet({ ...bundle, segments })).toContain('ROUND_PARTIALS');
    const plain = encodeJobSpec({ ...job.spec, parallel: undefined });
    await expect(unmet({ ...bundle, spec: plain })).rejects.toThrow(/STATEMENT_LENGTH/);
  });

  const lies: readonly (readonly [string, (saying: Saying, round: number) => Saying])[] = [
    ['a worker left out', ({ round, partials }) => ({ round, partials: partials.slice(1) })],
    ['a worker twice', ({ round, partials: [one] }) => ({ round, partials: [one!, one!] })],
    ['workers swapped', ({ round, partials }) => ({ round, partials: partials.toReversed() })],
    ['a worker more', ({ round, partials }) => ({ round, partials: [...partials, partials[0]!] })],
    ['another start for a worker', alter((one) => ({ ...one, weightsBefore: word }))],
    ['other steps for a worker', alter((one) => ({ ...one, stepFrom: one.stepFrom + 1 }))],
    ['fewer steps of a worker', alter((one) => ({ ...one, stepCount: one.stepCount - 1 }))],
    ['other data for a worker', alter((one) => ({ ...one, datasetRoot: word }))],
    ['another program for a worker', alter((one) => ({ ...one, programDigest: word }))],
    ['another job for a worker', alter((one) => ({ ...one, jobId: word }))],
  ];

  it.each(lies)('by an appraised session that signs %s is refused by its rounds alone', async (_, change) => {
    expect(await unmet(await dishonestRounds(made, change))).toEqual(['ROUND_PARTIALS']);
  });

  it('by an appraised session affirms where it says what is so, whatever its weights', async () => {
    expect(await unmet(await dishonestRounds(made, (saying) => saying))).toEqual([]);
  });

  it('that replays an earlier round is refused by the chain', async () => {
    const earlier = await dishonestRounds(made, (saying, round) => (round === 1 ? first0(saying) : saying));
    expect(await unmet(earlier)).toContain('BUNDLE_CHAIN');
  });
});

function alter(change: (one: Saying['partials'][number]) => Saying['partials'][number]) {
  return ({ round, partials: [one, ...rest] }: Saying): Saying => ({ round, partials: [change(one!), ...rest] });
}

/** The same partials and average, said of the first round’s steps. */
function first0({ round, partials }: Saying): Saying {
  const back = (one: Saying['round']) => ({ ...one, stepFrom: one.stepFrom - round.stepFrom });
  return { round: back(round), partials: partials.map(back) };
}
