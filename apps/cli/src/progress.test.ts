/** Lines about long work: not more than one a second, with an estimate by the speed of the last ones. */
import { expect, it } from 'vitest';
import { showProgress, showProofs } from './progress.js';

function shown(json: boolean): { lines: string[]; tell(at: number, done: number, stage?: 'seal' | 'upload'): void } {
  const lines: string[] = [];
  let clock = 0;
  const { onProgress } = showProgress(
    { json },
    (line) => void lines.push(line),
    () => clock,
  );
  return {
    lines,
    tell: (at, done, stage = 'seal') => ((clock = at), onProgress({ stage, done, of: 100e6, unit: 'bytes' })),
  };
}

it('tells stage, share, amount and what is left', () => {
  const { lines, tell } = shown(false);
  for (const [at, done] of [
    [0, 10e6],
    [500, 12e6],
    [1000, 20e6],
    [5000, 100e6],
  ] as const)
    tell(at, done);
  expect(lines).toEqual([
    'seal    10 %  10.0 of 100.0 MB',
    'seal    20 %  20.0 of 100.0 MB, 8 s left',
    'seal    100 %  100.0 of 100.0 MB',
  ]);
});

it('says the same as documents, and begins anew with every stage', () => {
  const { lines, tell } = shown(true);
  tell(0, 100e6);
  tell(100, 50e6, 'upload');
  tell(1100, 60e6, 'upload');
  expect(lines.map((line) => (JSON.parse(line) as { progress: unknown }).progress)).toEqual([
    { stage: 'seal', done: 100e6, of: 100e6, unit: 'bytes', percent: 100, etaSeconds: 0 },
    { stage: 'upload', done: 50e6, of: 100e6, unit: 'bytes', percent: 50, etaSeconds: null },
    { stage: 'upload', done: 60e6, of: 100e6, unit: 'bytes', percent: 60, etaSeconds: 4 },
  ]);
});

it('counts rows, and tells what is done where nobody knows how much there is', () => {
  const lines: string[] = [];
  const { onProgress } = showProgress({}, (line) => void lines.push(line));
  onProgress({ stage: 'look', done: 5e6, of: 0, unit: 'bytes' });
  onProgress({ stage: 'encode', done: 50, of: 200, unit: 'rows' });
  expect(lines).toEqual(['look    5.0 MB', 'encode  25 %  50 of 200 rows']);
});

it('does not count what an earlier call has done as speed', () => {
  const { lines, tell } = shown(true);
  tell(0, 80e6);
  tell(1000, 81e6);
  expect(lines.at(-1)).toContain('"etaSeconds":19');
});

it('says nothing again while nothing more is done, as within one part of a file', () => {
  const { lines, tell } = shown(false);
  for (const at of [0, 1000, 2000, 3000]) tell(at, 96e6);
  tell(4000, 100e6);
  expect(lines).toEqual(['seal    96 %  96.0 of 100.0 MB', 'seal    100 %  100.0 of 100.0 MB']);
});

it('tells the end of a stage once, however often it is reached', () => {
  const { lines, tell } = shown(false);
  for (const at of [0, 10, 2000]) tell(at, 100e6);
  expect(lines).toEqual(['seal    100 %  100.0 of 100.0 MB']);
});

it('says what proofs will take, for people and as a document', () => {
  const lines: string[] = [];
  const unit = { steps: 64, profile: 'steps128', proofs: 2, proofBytes: 118_455, transactions: 2, gas: 15_000_000 };
  const more = { cpuSeconds: 59.2, memoryBytes: 2200 * 2 ** 20 };
  for (const json of [false, true]) showProofs({ json }, (line) => void lines.push(line))({ ...unit, ...more });
  showProofs({}, (line) => void lines.push(line))({ ...unit, ...more, proofs: 1, transactions: 1, gas: null });
  expect(lines[0]).toBe(
    'proofs  2 proofs of 64 steps each (steps128, about 118 kB): 2 transactions, ' +
      'about 15.0 M gas, 60 s of one core, 2200 MiB',
  );
  expect(JSON.parse(lines[1]!)).toEqual({ proofs: { ...unit, ...more } });
  expect(lines[2]).toMatch(/ 1 proof of 64 steps .* 1 transaction, gas unknown/);
});
