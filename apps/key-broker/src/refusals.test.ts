import { expect, it } from 'vitest';
import { Rejection } from '#attestation/base';
import type { Journal } from './journal.js';
import { recordRefusal } from './refusals.js';

const error = new Rejection('BROKER_DATASET', { expected: 'one', got: 'another', rule: 'a test' });
const start = 1_800_000_000;

function journalOf(lines: object[]): Journal {
  return { append: (line: object) => void lines.push(line) } as unknown as Journal;
}

it('writes 60 refusals a minute at most, and says how many it left out', () => {
  const lines: object[] = [];
  const journal = journalOf(lines);
  for (let i = 0; i < 100; i++) recordRefusal(journal, start + (i % 60), error);
  expect(lines).toHaveLength(60);
  expect(lines[59]).toEqual({ at: start + 59, decision: 'refused', ...error.toJSON() });
  recordRefusal(journal, start + 60, error);
  recordRefusal(journal, start + 61, error);
  expect(lines.slice(60)).toEqual([
    { at: start + 60, decision: 'refused', ...error.toJSON(), unwritten: 40 },
    { at: start + 61, decision: 'refused', ...error.toJSON() },
  ]);
});

it('writes no more where requests of two minutes are refused in turns', () => {
  const lines: object[] = [];
  const journal = journalOf(lines);
  for (let i = 0; i < 1000; i++) recordRefusal(journal, start + (i % 2 === 0 ? 59 : 60), error);
  expect(lines).toHaveLength(1 + 60);
});

it('goes on writing where the clock was set far back', () => {
  const lines: object[] = [];
  const journal = journalOf(lines);
  for (let i = 0; i < 61; i++) recordRefusal(journal, start, error);
  recordRefusal(journal, start - 86_400, error);
  expect(lines.slice(60)).toEqual([{ at: start - 86_400, decision: 'refused', ...error.toJSON(), unwritten: 1 }]);
});
