import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, toHex, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { evaluationBytesMax } from '../base/limits.js';
import {
  encodeEvaluation,
  evaluatedSteps,
  evaluationPlanOf,
  metricKinds,
  parseEvaluation,
  programDigest,
  signEvaluation,
  signReceipt,
  standingsOf,
  verifyEvaluation,
  type EvaluationStatement,
  type Metric,
  type StopRule,
} from './index.js';

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const statement: EvaluationStatement = {
  version: 1,
  ...{ jobId: word(1), programDigest: word(2), validationRoot: word(3), step: 1404, weights: word(4) },
  metrics: [
    { metric: 'accuracy', numerator: 9890n, denominator: 10_000n },
    { metric: 'loss', numerator: 21_000_123n, denominator: 10_000n },
  ],
  end: { reason: 'stopped', step: 936, weights: word(5) },
};
const secret = new Uint8Array(32).fill(7);
const key = ed25519.getPublicKey(secret);
const sign = (message: Uint8Array): Uint8Array => ed25519.sign(message, secret);

describe('an evaluation statement', () => {
  it('has the bytes that another encoder writes', () => {
    const encoded = encodeEvaluation(statement);
    expect([encoded.length, toHex(sha256(encoded))]).toEqual([
      418,
      '2e5f10fbc6ed8d7948b897c1c8b555f383f3f687f191fc6d5cdfab7a15f221fa',
    ]);
  });

  it('comes back from its bytes, whatever its figures', () => {
    const measure = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
    const metric = fc.constantFrom(...(Object.keys(metricKinds) as Metric[]));
    const metrics = fc.array(fc.record({ metric, numerator: measure, denominator: measure }), { maxLength: 7 });
    fc.assert(
      fc.property(metrics, fc.integer({ min: 1, max: 2 ** 40 }), fc.boolean(), (given, step, isLast) => {
        const one = { ...statement, metrics: given, step, end: isLast ? statement.end : null };
        const encoded = encodeEvaluation(one);
        expect(encoded.length).toBeLessThanOrEqual(evaluationBytesMax);
        expect(parseEvaluation(encoded)).toEqual(one);
      }),
    );
  });

  it('has no figure below 0, and none of more than 128 bits', () => {
    for (const numerator of [-1n, 2n ** 128n]) {
      const metrics = [{ metric: 'sse' as const, numerator, denominator: 1n }];
      expect(() => encodeEvaluation({ ...statement, metrics })).toThrow(RangeError);
    }
  });

  it.each<[string, (members: Map<string, unknown>) => void]>([
    ['no member at all', (members) => members.clear()],
    ['one member less', (members) => members.delete('end')],
    ['a member more', (members) => members.set('note', 1)],
    ['another version', (members) => members.set('version', 2)],
    ['step 0', (members) => members.set('step', 0)],
    ['a short root', (members) => members.set('validationRoot', new Uint8Array(31))],
    ['an unknown metric', (members) => members.set('metrics', [new Map(Object.entries({ metric: 'f1' }))])],
    ['a numerator of 15 bytes', (members) => {
      const one = { metric: 'loss', numerator: new Uint8Array(15), denominator: new Uint8Array(16) };
      members.set('metrics', [new Map<string, unknown>(Object.entries(one))]);
    }], // prettier-ignore
    ['eight metrics', (members) => members.set('metrics', Array(8).fill((members.get('metrics') as unknown[])[0]))],
    ['an unknown reason', (members) => (members.get('end') as Map<string, unknown>).set('reason', 'failed')],
  ])('with %s is refused', (_, change) => {
    const members = decodeCanonical(encodeEvaluation(statement)) as Map<string, unknown>;
    change(members);
    expect(() => parseEvaluation(encodeCanonical(members as never))).toThrow(/MESSAGE_SHAPE/);
  });

  it('is refused by its length before it is read', () => {
    expect(() => parseEvaluation(new Uint8Array(evaluationBytesMax + 1))).toThrow(/MESSAGE_SIZE/);
  });

  it('has receipts of its own kind, over every member', async () => {
    const receipt = await signEvaluation(statement, key, sign);
    await verifyEvaluation(receipt, statement, key);
    const others: Partial<EvaluationStatement>[] = [
      ...[{ jobId: word(9) }, { programDigest: word(9) }, { validationRoot: word(9) }, { step: 1405 }, { end: null }],
      ...[{ weights: word(9) }, { end: { ...statement.end!, step: 468 } }],
      ...[{ metrics: [...statement.metrics].reverse() }, { metrics: statement.metrics.slice(1) }],
      { metrics: [{ ...statement.metrics[0]!, numerator: 9891n }, statement.metrics[1]!] },
      { metrics: [{ ...statement.metrics[0]!, denominator: 9999n }, statement.metrics[1]!] },
    ];
    for (const change of others) {
      const other = verifyEvaluation(receipt, { ...statement, ...change }, key);
      await expect(other).rejects.toMatchObject({ code: 'RECEIPT_STATEMENT' });
    }
    const foreign = ed25519.getPublicKey(word(8));
    await expect(verifyEvaluation(receipt, statement, foreign)).rejects.toMatchObject({
      code: expect.stringMatching(/^COSE_/),
    });
    const steps = { ...statement, datasetRoot: word(3), stepFrom: 0, stepCount: 1, weightsBefore: word(4), weightsAfter: word(5) }; // prettier-ignore
    const plain = await signReceipt(steps, key, sign);
    await expect(verifyEvaluation(plain, statement, key)).rejects.toMatchObject({ code: 'COSE_CONTENT_TYPE' });
  });
});

describe('a program', () => {
  const digestBy = (version: number, text: string): string =>
    toHex(keccak_256(concatBytes(utf8(`veritrain/manifest/v${version}`), utf8(text))));

  it('has the tag of its semantics', () => {
    for (const text of ['{"fxt":2}', '{"a":8,"fxt":2,"layers":[]}']) {
      expect(toHex(programDigest(utf8(text)))).toBe(digestBy(2, text));
    }
  });

  it('has the first one for every other text', () => {
    const others = [
      '{"fxt":1}',
      '{"fxt":"2"}',
      '{"fxt": 2}',
      '{"fxt":1,"fxt":2}',
      '{"x":{"fxt":2}}',
      '[2]',
      '2',
      'null',
      '',
    ];
    for (const text of others) expect(toHex(programDigest(utf8(text)))).toBe(digestBy(1, text));
    const depth = '['.repeat(16_000);
    expect(toHex(programDigest(utf8(depth)))).toBe(digestBy(1, depth));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(programDigest(bytes)).toHaveLength(32);
      }),
    );
  });
});

const manifest = {
  evaluate: { batch: 64, every: 8, metrics: ['accuracy', 'loss'] },
  ...{ fxt: 2, labelShape: [], steps: 20, stop: { metric: 'loss', minimum: 0, patience: 3 } },
};
const evaluated = {
  ...{ manifest: utf8(JSON.stringify(manifest)), segmentSteps: 4, assurance: 'tee' },
  validation: { root: word(3), records: 100 },
};
const planOf = (change: object, spec: object = {}) =>
  evaluationPlanOf({ ...evaluated, manifest: utf8(JSON.stringify({ ...manifest, ...change })), ...spec });

describe('the evaluations that a job declares', () => {
  it('are those after every multiple, and after the last step', () => {
    const plan = planOf({})!;
    expect(plan).toEqual({ every: 8, steps: 20, metrics: ['accuracy', 'loss'], labels: 1, stop: manifest.stop });
    expect(evaluatedSteps(plan)).toEqual([8, 16, 20]);
    expect(evaluatedSteps({ every: 10, steps: 20 })).toEqual([10, 20]);
    expect(evaluatedSteps({ every: 50, steps: 20 })).toEqual([20]);
    expect(planOf({ labelShape: [3, 4] })!.labels).toBe(12);
  });

  it('are none in fxt/1, and where the manifest has none', () => {
    expect(planOf({ fxt: 1 }, { validation: undefined })).toBeNull();
    expect(planOf({ evaluate: null, stop: null }, { validation: undefined })).toBeNull();
  });

  it.each<[string, string, object, object?]>([
    ['a validation set without evaluations', 'JOB_VALIDATION', { evaluate: null, stop: null }],
    ['a validation set in fxt/1', 'JOB_VALIDATION', { fxt: 1 }],
    ['evaluations without a validation set', 'JOB_VALIDATION', {}, { validation: undefined }],
    ['too many', 'JOB_VALIDATION', { steps: 2 ** 40 - 1 }],
    ['a rule to stop inside segments', 'JOB_VALIDATION', {}, { segmentSteps: 5 }],
    ['evaluations inside rounds', 'JOB_VALIDATION', { stop: null }, { parallel: 3 }],
    ['a rule to stop a proved job', 'JOB_VALIDATION', {}, { assurance: 'tee+zk' }],
    ['a rule without evaluations', 'JOB_MANIFEST', { evaluate: null }],
    ['no steps', 'JOB_MANIFEST', { steps: 0 }],
    ['evaluations every 0 steps', 'JOB_MANIFEST', { evaluate: { ...manifest.evaluate, every: 0 } }],
    ['a member more', 'JOB_MANIFEST', { evaluate: { ...manifest.evaluate, most: 1 } }],
    ['a list for evaluate', 'JOB_MANIFEST', { evaluate: [8] }],
    ['an unknown metric', 'JOB_MANIFEST', { evaluate: { ...manifest.evaluate, metrics: ['toString'] } }],
    ['a metric twice', 'JOB_MANIFEST', { evaluate: { ...manifest.evaluate, metrics: ['loss', 'loss'] } }],
    ['no metric', 'JOB_MANIFEST', { evaluate: { ...manifest.evaluate, metrics: [] } }],
    ['labels beyond counting', 'JOB_MANIFEST', { labelShape: Array(40).fill(2 ** 39) }],
    ['a rule over what is not measured', 'JOB_MANIFEST', { stop: { ...manifest.stop, metric: 'auc' } }],
    ['a rule without patience', 'JOB_MANIFEST', { stop: { ...manifest.stop, patience: 0 } }],
    ['a rule with a negative minimum', 'JOB_MANIFEST', { stop: { ...manifest.stop, minimum: -1 } }],
  ])('are refused with %s', (_, code, change, spec) => {
    expect(() => planOf(change, spec)).toThrow(new RegExp(code));
  });
});

/** As the rule reads: the best of the last evaluations against the best of those before them. */
function plainly(
  { metric, patience, minimum }: StopRule,
  values: readonly bigint[],
): { best: number; isOver: boolean } {
  const better = (a: bigint, b: bigint): boolean => (metricKinds[metric] === 'higher' ? a > b : a < b);
  const bestOf = (list: readonly bigint[]): bigint => list.reduce((found, one) => (better(one, found) ? one : found));
  const [before, best] = [values.slice(0, -patience), bestOf(values)];
  const gain = before.length === 0 ? undefined : best - bestOf(before);
  const least = BigInt(minimum < 1 ? 1 : minimum);
  return { best: values.indexOf(best), isOver: gain !== undefined && (gain < 0n ? -gain : gain) < least };
}

describe('the rule to stop by', () => {
  it('stops when the best of the last evaluations is no better than the best before them', () => {
    const rule: StopRule = { metric: 'accuracy', patience: 2, minimum: 5 };
    const standings = standingsOf(rule, [50n, 60n, 64n, 63n, 64n]);
    expect(standings.map(({ best }) => best)).toEqual([0, 1, 2, 2, 2]);
    expect(standings.map(({ isOver }) => isOver)).toEqual([false, false, false, true, true]);
  });

  it('takes less as better for a loss, and the earlier of two equal ones', () => {
    const rule: StopRule = { metric: 'loss', patience: 1, minimum: 0 };
    expect(standingsOf(rule, [9n, 7n, 7n])).toEqual([
      { best: 0, isOver: false },
      { best: 1, isOver: false },
      { best: 1, isOver: true },
    ]);
  });

  it('comes to what its sentence says', () => {
    const metric = fc.constantFrom<Metric>('accuracy', 'loss');
    const rule = fc.record({
      metric,
      patience: fc.integer({ min: 1, max: 5 }),
      minimum: fc.integer({ min: 0, max: 6 }),
    });
    const values = fc.array(fc.bigInt({ min: 0n, max: 30n }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(rule, values, (one, numerators) => {
        const expected = numerators.map((_, index) => plainly(one, numerators.slice(0, index + 1)));
        expect(standingsOf(one, numerators)).toEqual(expected);
      }),
    );
  });
});
