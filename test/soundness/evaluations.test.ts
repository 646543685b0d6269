/** What a bundle says of a validation set: shown where it is whole, refused where anything of it is not. */
import { describe, expect, it } from 'vitest';
import { verifyBundle, type Check } from '#attestation';
import {
  encodeBundle,
  encodeEvaluation,
  encodeTerms,
  parseBundle,
  parseEvaluation,
  type EvaluationStatement,
  type EvidenceBundle,
  type StopRule,
} from '#attestation/records';
import { evaluatedBundle, validationRecords, type EvaluatedBundle } from '#test/evaluated-bundle';
import { bundleRules } from '../../attestation/src/verdict/bundle-rules.js';
import { affirmedOf, mutants } from './mutants.js';

const accuracies = [700, 800, 900, 850];
const rule: StopRule = { metric: 'accuracy', patience: 1, minimum: 10 };
const measured = await evaluatedBundle({ every: 6, accuracies });
const other = await evaluatedBundle({ every: 6, accuracies, salt: 2 });
/** Stops at step 12, as nothing since is 10 better than 795. */
const stopped = await evaluatedBundle({ every: 4, stop: rule, accuracies: [700, 795, 790, 999, 999] });
const completed = await evaluatedBundle({ every: 4, stop: rule, accuracies: [700, 800, 900, 950, 940] });

const isUnmet = ({ status }: Check): boolean => status !== 'met' && status !== 'warned';

async function judged({ job, bundle }: EvaluatedBundle) {
  const verdict = await verifyBundle({ bundle: encodeBundle(bundle), policy: job.policy });
  const unmet = verdict.checks.filter(isUnmet);
  const ofEvaluations = verdict.checks.filter(({ id }) => /_(EVALUATIONS|VALIDATION|STOP)$/.test(id));
  return { ...verdict, unmet: unmet.map(({ code }) => code), unmetIds: unmet.map(({ id }) => id), ofEvaluations };
}

describe('a bundle of a job that was measured', () => {
  it('says what, on how many rows and of which validation set, and shows the curve', async () => {
    const { tier, unmet, ofEvaluations, evaluations } = await judged(measured);
    expect([tier, unmet]).toEqual(['warning', []]);
    expect(ofEvaluations.map(({ id, got }) => [id, got])).toEqual([
      ['BUNDLE_EVALUATIONS', '4 evaluations, every 6 steps'],
      [
        'BUNDLE_VALIDATION',
        expect.stringMatching(/^validation accuracy 85 %, loss 0\.15 on 1,000 rows, root 0x[0-9a-f]{64}$/),
      ],
    ]);
    expect(evaluations).toMatchObject({ records: validationRecords, deliveredStep: 20, reason: null });
    expect(evaluations!.curve.map(({ step, metrics }) => [step, metrics[0]!.numerator])).toEqual([
      [6, '700'],
      [12, '800'],
      [18, '900'],
      [20, '850'],
    ]);
    expect(encodeBundle(parseBundle(encodeBundle(measured.bundle)))).toEqual(encodeBundle(measured.bundle));
  });

  it('shows three digits of a figure that is small, and its exact parts', async () => {
    const parts = [7n, 66n, 6_400n, 0n];
    const small = await evaluatedBundle({
      ...{ every: 6, accuracies },
      change: (statement, index) => ({
        ...statement,
        metrics: statement.metrics.map((one) => (one.metric === 'loss' ? { ...one, numerator: parts[index]! } : one)),
      }),
    });
    const { curve } = (await judged(small)).evaluations!;
    expect(curve.map(({ metrics }) => metrics[1])).toMatchObject([
      { figure: 'loss 0.000000106', numerator: '7', denominator: '1000' },
      { figure: 'loss 0.000001', numerator: '66' },
      { figure: 'loss 0.0000976', numerator: '6400' },
      { figure: 'loss 0', numerator: '0' },
    ]);
  });

  it('ends where the rule stops it, pays for what was trained and delivers the best border', async () => {
    const { tier, unmet, ofEvaluations, evaluations, result, steps } = await judged(stopped);
    expect([tier, unmet]).toEqual(['warning', []]);
    expect(ofEvaluations.at(-1)!.got).toBe('stopped at step 12; the weights of step 8 are delivered');
    expect(evaluations).toMatchObject({ deliveredStep: 8, reason: 'stopped' });
    expect(stopped.bundle.run).toMatchObject({ outcome: 3, upTo: 3 });
    expect([steps, result]).toEqual([12, Buffer.from(statementOf(stopped.bundle, 1).weights).toString('hex')]);
  });

  it('delivers an earlier border than its last where that is the best', async () => {
    const { unmet, ofEvaluations, evaluations, result } = await judged(completed);
    expect(unmet).toEqual([]);
    expect(ofEvaluations.at(-1)!.got).toBe('completed at step 20; the weights of step 16 are delivered');
    expect(evaluations).toMatchObject({ deliveredStep: 16, reason: 'completed' });
    expect(result).toBe(Buffer.from(statementOf(completed.bundle, 3).weights).toString('hex'));
    expect(result).not.toBe(Buffer.from(completed.bundle.run.last).toString('hex'));
  });

  it('mutated 400 times by seed never affirms and never crashes', async () => {
    const refusedBy = async (bytes: Uint8Array): Promise<string | null> => {
      const verdict = await verifyBundle({ bundle: bytes, policy: stopped.job.policy }).catch(
        (error: { code: string }) => error,
      );
      if ('code' in verdict) return verdict.code;
      return verdict.tier === 'warning' || verdict.tier === 'affirming' ? null : 'refused';
    };
    expect(await affirmedOf(mutants(encodeBundle(stopped.bundle), 400), refusedBy)).toBe(0);
  }, 300_000);
});

describe.each([
  ['a plain job', { isParallel: false }],
  ['a data-parallel job', { isParallel: true }],
])('an evaluation of %s', (_, kind) => {
  const options = { ...kind, every: 4, accuracies: [700, 800, 900, 850, 860] };

  it('is by the session that signed its segment, one after the other', async () => {
    const made = await evaluatedBundle({ ...options, second: { segments: 8, evaluations: 8 } });
    const { tier, unmet } = await judged(made);
    expect([tier, unmet]).toEqual(['warning', []]);
    expect(made.bundle.evaluations!.map(({ session }) => session)).toEqual([0, 0, 1, 1, 1]);
  });

  it.each([
    ['signed no segment', { segments: 20, evaluations: 16 }],
    ['goes on after it', { segments: 8, evaluations: 4 }],
    ['signed the segment before it', { segments: 8, evaluations: 12 }],
  ])('by a released session that %s is refused by BUNDLE_EVALUATIONS alone', async (_, second) => {
    const { tier, unmetIds } = await judged(await evaluatedBundle({ ...options, second }));
    expect([tier, unmetIds]).toEqual(['contraindicated', ['BUNDLE_EVALUATIONS']]);
  });
});

type Change = (bundle: EvidenceBundle) => EvidenceBundle;
type Evaluations = NonNullable<EvidenceBundle['evaluations']>;

function statementOf({ evaluations }: EvidenceBundle, at: number): EvaluationStatement {
  return parseEvaluation(evaluations!.at(at)!.statement);
}

const listed =
  (change: (evaluations: Evaluations) => Evaluations): Change =>
  (bundle) => ({ ...bundle, evaluations: change(bundle.evaluations!) });

const restated = (at: number, change: Partial<EvaluationStatement>): Change =>
  listed((all) =>
    all.map((one, index) =>
      index === at ? { ...one, statement: encodeEvaluation({ ...parseEvaluation(one.statement), ...change }) } : one,
    ),
  );

/** What anybody can do who has the file. */
const forgeries: readonly (readonly [what: string, code: string, change: Change])[] = [
  ['no evaluations', 'BUNDLE_EVALUATIONS', (bundle) => ({ ...bundle, evaluations: undefined })],
  ['the first left out', 'BUNDLE_EVALUATIONS', listed((all) => all.slice(1))],
  ['one in the middle left out', 'BUNDLE_EVALUATIONS', listed((all) => all.toSpliced(1, 1))],
  ['the last left out', 'BUNDLE_EVALUATIONS', listed((all) => all.slice(0, -1))],
  ['one twice', 'BUNDLE_EVALUATIONS', listed((all) => [all[0]!, ...all])],
  ['another order', 'BUNDLE_EVALUATIONS', listed((all) => all.toReversed())],
  ['two exchanged', 'BUNDLE_EVALUATIONS', listed((all) => [all[0]!, all[2]!, all[1]!, all[3]!])],
  ['two receipts exchanged', 'RECEIPT_STATEMENT', listed((all) =>
    all.map((one, at) => ({ ...one, receipt: all[at === 0 ? 1 : at === 1 ? 0 : at]!.receipt })))],
  ['those of another job', 'BUNDLE_EVALUATIONS', (bundle) => ({ ...bundle, evaluations: other.bundle.evaluations! })],
  ['those of a session that is not there', 'BUNDLE_SESSION_INDEX', listed((all) => all.map((one) => ({ ...one, session: 1 })))],
  ['a better numerator', 'RECEIPT_STATEMENT', restated(3, { metrics: better(measured.bundle, 3) })],
  ['another validation root', 'RECEIPT_STATEMENT', restated(0, { validationRoot: new Uint8Array(32) })],
  ['other weights', 'RECEIPT_STATEMENT', restated(0, { weights: new Uint8Array(32) })],
  ['a step receipt in place of its own', 'COSE_CONTENT_TYPE', (bundle) =>
    listed((all) => all.map((one) => ({ ...one, receipt: bundle.segments[0]!.signed!.receipt })))(bundle)],
]; // prettier-ignore

function better(bundle: EvidenceBundle, at: number): EvaluationStatement['metrics'] {
  return statementOf(bundle, at).metrics.map((one) => ({ ...one, numerator: one.numerator + 1n }));
}

type Signed = NonNullable<Parameters<typeof evaluatedBundle>[0]['change']>;
type Metrics = EvaluationStatement['metrics'];

const only =
  (at: number, change: Partial<EvaluationStatement>): Signed =>
  (statement, index) =>
    index === at ? { ...statement, ...change } : statement;
const figures =
  (at: number, change: (metrics: Metrics) => Metrics): Signed =>
  (statement, index) =>
    index === at ? { ...statement, metrics: change(statement.metrics) } : statement;
const denominator = (at: number, value: bigint): Signed =>
  figures(at, ([accuracy, loss]) => [{ ...accuracy!, numerator: 0n, denominator: value }, loss!]);
const zero = new Uint8Array(32);

/** What a released session might sign, everything else being consistent. */
const dishonest: readonly (readonly [what: string, id: string, change: Signed])[] = [
  ['another job', 'BUNDLE_EVALUATIONS', only(1, { jobId: zero })],
  ['another program', 'BUNDLE_EVALUATIONS', only(1, { programDigest: zero })],
  ['a step that is not declared', 'BUNDLE_EVALUATIONS', only(0, { step: 7 })],
  ['other weights than those of the border', 'BUNDLE_EVALUATIONS', only(1, { weights: zero })],
  ['an end without a rule', 'BUNDLE_EVALUATIONS', only(3, { end: { reason: 'completed', step: 20, weights: zero } })],
  ['another validation set', 'BUNDLE_VALIDATION', (statement) => ({ ...statement, validationRoot: zero })],
  ['another validation set once', 'BUNDLE_VALIDATION', only(2, { validationRoot: zero })],
  ['one metric only', 'BUNDLE_VALIDATION', figures(2, (metrics) => metrics.slice(0, 1))],
  ['metrics in another order', 'BUNDLE_VALIDATION', figures(2, (metrics) => metrics.toReversed())],
  ['another metric', 'BUNDLE_VALIDATION', figures(2, ([one, two]) => [one!, { ...two!, metric: 'sse' }])],
  ['a metric twice', 'BUNDLE_VALIDATION', figures(2, ([one, two]) => [one!, two!, one!])],
  ['no metric', 'BUNDLE_VALIDATION', figures(2, () => [])],
  ['more hits than rows', 'BUNDLE_VALIDATION', figures(2, ([one, two]) => [{ ...one!, numerator: 1001n }, two!])],
  ['fewer rows', 'BUNDLE_VALIDATION', denominator(2, 999n)],
  ['fewer rows from the first on', 'BUNDLE_VALIDATION', denominator(0, 999n)],
  ['more rows', 'BUNDLE_VALIDATION', denominator(2, 1001n)],
  ['no rows', 'BUNDLE_VALIDATION', denominator(2, 0n)],
];

const ending =
  (end: Partial<NonNullable<EvaluationStatement['end']>> | null): Signed =>
  (statement) =>
    statement.end === null ? statement : { ...statement, end: end === null ? null : { ...statement.end, ...end } };

type Options = Partial<Parameters<typeof evaluatedBundle>[0]>;

/** Ends that the rule does not give. */
const ends: readonly (readonly [what: string, id: string, made: Options])[] = [
  ['no end', 'BUNDLE_EVALUATIONS', { change: ending(null) }],
  ['another reason', 'BUNDLE_STOP', { change: ending({ reason: 'completed' }) }],
  ['another step for the best', 'BUNDLE_STOP', { change: ending({ step: 12 }) }],
  ['another border for the best', 'BUNDLE_STOP', { change: ending({ weights: zero }) }],
  ['the end one evaluation early', 'BUNDLE_EVALUATIONS', { change: only(0, { end: { reason: 'stopped', step: 4, weights: zero } }) }],
  ['an outcome that is complete', 'BUNDLE_RUN', { run: { outcome: 0 } }],
  ['an outcome of another kind', 'BUNDLE_RUN', { run: { outcome: 2 } }],
  ['more segments in the seal', 'BUNDLE_RUN', { run: { upTo: 4 } }],
  ['all segments in the seal', 'BUNDLE_RUN', { run: { upTo: 5 } }],
  ['a border more than was evaluated', 'BUNDLE_EVALUATIONS', { trained: 4 }],
  ['a border less than was evaluated', 'BUNDLE_EVALUATIONS', { trained: 2 }],
]; // prettier-ignore

describe('a forged bundle', () => {
  it.each(forgeries)('with %s is refused, among others by %s', async (_, code, change) => {
    const { tier, unmet, result } = await judged({ ...measured, bundle: change(measured.bundle) });
    expect(['contraindicated', 'none']).toContain(tier);
    expect(unmet).toContain(code);
    expect(result).toHaveLength(64);
  });

  it.each(dishonest)('by a released session that signs %s is refused by %s alone', async (_, id, change) => {
    const { tier, unmetIds } = await judged(await evaluatedBundle({ every: 6, accuracies, change }));
    expect([tier, unmetIds]).toEqual(['contraindicated', [id]]);
  });

  it.each(ends)('with %s is refused, among others by %s', async (_, id, made) => {
    const accuracies = [700, 795, 790, 999, 999];
    const { tier, unmetIds } = await judged(await evaluatedBundle({ every: 4, stop: rule, accuracies, ...made }));
    expect(tier).toBe('contraindicated');
    expect(unmetIds).toContain(id);
  });

  it('that goes on where the rule stops it is refused by the rule', async () => {
    const never: StopRule = { metric: 'accuracy', patience: 4, minimum: 1 };
    const lazy = await evaluatedBundle({ every: 4, stop: never, accuracies: [700, 795, 790, 999, 999] });
    const { unmetIds } = await judged(lazy);
    expect(unmetIds).toEqual([]);
    const flat: Signed = (statement) => ({
      ...statement,
      metrics: statement.metrics.map((one) => ({ ...one, numerator: 5n })),
    });
    const tooLong = { every: 4, accuracies: [700, 795, 900, 999, 999], stop: rule, change: flat };
    expect((await judged(await evaluatedBundle(tooLong))).unmetIds).toEqual(['BUNDLE_STOP']);
  });

  it('that stops where the terms do not allow it is refused', async () => {
    const terms = { ...stopped.job.terms, mode: 17 };
    const bundle = { ...stopped.bundle, terms: encodeTerms(terms) };
    expect((await judged({ ...stopped, bundle })).unmetIds).toContain('BUNDLE_RUN');
  });

  it('that has evaluations where none are declared is refused', async () => {
    const { tinyBundle } = await import('#test/tiny-bundle');
    const plain = await tinyBundle();
    const bundle = { ...plain.bundle, evaluations: measured.bundle.evaluations! };
    const { tier, unmetIds } = await judged({ job: plain.job, bundle });
    expect([tier, unmetIds.filter((id) => id !== 'BUNDLE_TRANSACTIONS')]).toEqual([
      'contraindicated',
      ['BUNDLE_EVALUATIONS'],
    ]);
  });

  it('has no list without an entry', () => {
    expect(() => parseBundle(encodeBundle({ ...measured.bundle, evaluations: [] }))).toThrow(/MESSAGE_SHAPE/);
  });

  it('is caught where a verifier forgets any one of these checks', async () => {
    const forged = [
      ...(await Promise.all(dishonest.map(([, , change]) => evaluatedBundle({ every: 6, accuracies, change })))),
      ...(await Promise.all(ends.map(([, , made]) =>
        evaluatedBundle({ every: 4, stop: rule, accuracies: [700, 795, 790, 999, 999], ...made })))),
    ]; // prettier-ignore
    const alone = new Set<string>();
    for (const one of forged) {
      const { unmetIds } = await judged(one);
      if (unmetIds.length === 1) alone.add(unmetIds[0]!);
    }
    const ids = Object.keys(bundleRules).filter((id) => /_(EVALUATIONS|VALIDATION|STOP)$/.test(id));
    expect([...alone].sort()).toEqual(expect.arrayContaining(ids.sort()));
  });
});
