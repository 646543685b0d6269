import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import {
  checkPartials,
  encodeRoundStatement,
  parseRoundStatement,
  partialOf,
  partialsDigest,
  roundStatementDigest,
  signReceipt,
  signRoundReceipt,
  stepStatementDigest,
  verifyReceipt,
  verifyRoundReceipt,
  type RoundStatement,
  type StepStatement,
} from './index.js';

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const spec = { segmentSteps: 4, parallel: 3 };
const receipts = [word(21), word(22), word(23)];
const round: RoundStatement = {
  ...{ jobId: word(1), programDigest: word(2), datasetRoot: word(3), stepFrom: 12, stepCount: 12 },
  ...{ weightsBefore: word(4), weightsAfter: word(5), partials: partialsDigest(receipts) },
};
const partials = receipts.map((receipt, worker) => ({
  receipt,
  statement: { ...partialOf(spec, round, worker), weightsAfter: word(10 + worker) },
}));
const secret = new Uint8Array(32).fill(7);
const key = ed25519.getPublicKey(secret);
const sign = (message: Uint8Array) => ed25519.sign(message, secret);

const withStatement = (at: number, change: Partial<StepStatement>) =>
  partials.map((one, i) => (i === at ? { ...one, statement: { ...one.statement, ...change } } : one));

describe('a round statement', () => {
  it('comes back from its bytes and shares no digest with a step statement', () => {
    expect(parseRoundStatement(encodeRoundStatement(round))).toEqual(round);
    expect(roundStatementDigest(round)).not.toEqual(stepStatementDigest(round));
    for (const length of [0, 224, 255, 257]) {
      expect(() => parseRoundStatement(new Uint8Array(length))).toThrow(/STATEMENT_LENGTH/);
    }
  });

  it('has receipts of its own kind', async () => {
    const receipt = await signRoundReceipt(round, key, sign);
    await verifyRoundReceipt(receipt, round, key);
    await expect(verifyReceipt(receipt, round, key)).rejects.toMatchObject({ code: 'COSE_CONTENT_TYPE' });
    const plain = await signReceipt(round, key, sign);
    await expect(verifyRoundReceipt(plain, round, key)).rejects.toMatchObject({ code: 'COSE_CONTENT_TYPE' });
    const other = { ...round, weightsAfter: word(6) };
    await expect(verifyRoundReceipt(receipt, other, key)).rejects.toMatchObject({ code: 'RECEIPT_STATEMENT' });
  });
});

describe('the partials of a round', () => {
  it('are one of every worker, over its own steps from the round’s start', () => {
    checkPartials(spec, round, partials);
    expect(partials.map(({ statement }) => statement.stepFrom)).toEqual([12, 16, 20]);
  });

  it.each([
    ['one missing', partials.slice(1)],
    ['one twice', [partials[0]!, partials[0]!, partials[2]!]],
    ['one too many', [...partials, partials[2]!]],
    ['two swapped', [partials[1]!, partials[0]!, partials[2]!]],
    ['another receipt', partials.map((one, i) => (i === 1 ? { ...one, receipt: word(99) } : one))],
    ['one of another round', withStatement(0, { stepFrom: 0 })],
    ['one of another start', withStatement(1, { weightsBefore: word(5) })],
    ['one of another job', withStatement(2, { jobId: word(9) })],
    ['one of another program', withStatement(2, { programDigest: word(9) })],
    ['one on other data', withStatement(0, { datasetRoot: word(9) })],
    ['one of fewer steps', withStatement(0, { stepCount: 3 })],
  ])('with %s are refused', (_, forged) => {
    expect(() => checkPartials(spec, round, forged)).toThrow(/ROUND_PARTIALS/);
  });
});
