import { describe, expect, it } from 'vitest';
import { to0x, toBase64 } from '#attestation/base';
import {
  encodeJobSpec,
  parseSessionEvidence,
  parseStepStatement,
  termsJson,
  type EvaluationStatement,
} from '#attestation/records';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { checkEvaluations, checkMeasured, type SignedSegment } from './evaluation-check.js';

const stop = { metric: 'accuracy', patience: 1, minimum: 5 } as const;
const whole = { every: 8, accuracies: [500, 600, 700] };
const early = { every: 4, stop, accuracies: [500, 600, 600, 600, 600] };
type Made = Parameters<typeof evaluatedBundle>[0];

/** What a node delivers of the job, and the keys of its sessions. */
async function delivered(options: Made) {
  const { job, bundle } = await evaluatedBundle(options);
  const keys = bundle.sessions.map(({ evidence }) => to0x(parseSessionEvidence(evidence).binding.receiptKey));
  const evaluations = bundle.evaluations!.map(({ session, statement, receipt }) => {
    return { key: keys[session]!, statement: toBase64(statement), receipt: toBase64(receipt) };
  });
  const segments = bundle.segments.map(({ statement, signed }): SignedSegment => {
    return { statement: parseStepStatement(statement), signer: keys[signed!.session]! };
  });
  const row = { id: to0x(job.jobId), spec: Buffer.from(encodeJobSpec(job.spec)), terms: termsJson(job.terms) };
  const run = { ...bundle.run, ...words(bundle.run) };
  return { row, message: { evaluations, run }, keys: new Set(keys), segments };
}

function words(run: Record<'bordersRoot' | 'last' | 'delivery' | 'keys', Uint8Array>) {
  const { bordersRoot, last, delivery, keys } = run;
  return { bordersRoot: to0x(bordersRoot), last: to0x(last), delivery: to0x(delivery), keys: to0x(keys) };
}

describe('the evaluations of a delivery', () => {
  it.each<[string, Made]>([
    ['of a whole run', whole],
    ['of a run that its rule has ended', early],
  ])('%s are taken', async (_, options) => {
    const { row, message, keys } = await delivered(options);
    await expect(checkEvaluations(row, message, keys)).resolves.toBeUndefined();
  });

  const lies: [string, (statement: EvaluationStatement) => EvaluationStatement][] = [
    ['of another job', (one) => ({ ...one, jobId: new Uint8Array(32) })],
    ['of another program', (one) => ({ ...one, programDigest: new Uint8Array(32) })],
    ['on another validation set', (one) => ({ ...one, validationRoot: new Uint8Array(32) })],
    ['after another step', (one) => ({ ...one, step: one.step + 1 })],
    ['with fewer metrics', (one) => ({ ...one, metrics: one.metrics.slice(1) })],
    ['with an end that no rule brings', (one) => ({ ...one, end: { reason: 'completed', step: one.step, weights: one.weights } })],
  ]; // prettier-ignore
  it.each(lies)('%s are refused: DELIVERY_EVALUATIONS', async (_, change) => {
    const { row, message, keys } = await delivered({ ...whole, change });
    await expect(checkEvaluations(row, message, keys)).rejects.toMatchObject({ code: 'DELIVERY_EVALUATIONS' });
  });

  it('are all that are declared, in their order, signed by a session of the job', async () => {
    const { row, message, keys } = await delivered(whole);
    const [one, two, three] = message.evaluations;
    const refused = { code: 'DELIVERY_EVALUATIONS' };
    for (const evaluations of [[], [one!, two!], [two!, three!], [two!, one!, three!], [one!, one!, two!, three!]]) {
      await expect(checkEvaluations(row, { ...message, evaluations }, keys)).rejects.toMatchObject(refused);
    }
    await expect(checkEvaluations(row, message, new Set())).rejects.toMatchObject(refused);
    const swapped = [{ ...one!, receipt: two!.receipt }, two!, three!];
    await expect(checkEvaluations(row, { ...message, evaluations: swapped }, keys)).rejects.toMatchObject({
      code: 'RECEIPT_STATEMENT',
    });
  });

  it('of a stopped run end where the run ends', async () => {
    const { row, message, keys } = await delivered(early);
    const run = { ...message.run, upTo: message.run.upTo + 1 };
    await expect(checkEvaluations(row, { ...message, run }, keys)).rejects.toMatchObject({
      code: 'DELIVERY_EVALUATIONS',
    });
  });

  it('are measured of the weights of their border', async () => {
    const { message, segments } = await delivered(whole);
    expect(() => checkMeasured(message, segments)).not.toThrow();
    const other = segments.map((one) => ({
      ...one,
      statement: { ...one.statement, weightsAfter: new Uint8Array(32) },
    }));
    expect(() => checkMeasured(message, other)).toThrow(/DELIVERY_EVALUATIONS/);
  });

  it('are by the session that signed the segment', async () => {
    const options = { ...whole, second: { segments: 8, evaluations: 8 } };
    const { message, segments } = await delivered(options);
    expect(() => checkMeasured(message, segments)).not.toThrow();
    for (const evaluations of [0, 16, 20]) {
      const lie = await delivered({ ...options, second: { segments: 8, evaluations } });
      expect(() => checkMeasured(lie.message, lie.segments)).toThrow(/DELIVERY_EVALUATIONS/);
    }
    const unsigned = segments.map((one) => ({ ...one, signer: null }));
    expect(() => checkMeasured(message, unsigned)).toThrow(/DELIVERY_EVALUATIONS/);
  });
});
