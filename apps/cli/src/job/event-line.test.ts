import { expect, it } from 'vitest';
import { metricKinds } from '#attestation/records';
import { eventLine } from './event-line.js';

const lineOf = (type: string, data: object): string => eventLine({ type, data });

it('tells the figures of a step that there are', () => {
  const step = { step: 4, of: 8, loss: null, accuracy: null, samplesPerSecond: null };
  expect(lineOf('progress', step)).toBe('step 4 of 8');
  const figures = { loss: 0.25, accuracy: 0.5, samplesPerSecond: 12_000 };
  expect(lineOf('progress', { ...step, ...figures })).toBe(
    'step 4 of 8  loss 0.2500  accuracy 50.0 %  12,000 samples/s',
  );
});

it('tells a state, and the one before where there is one', () => {
  const state = { from: null, to: 'submitted', code: 'ESCROW_MISSING', reason: null };
  expect(lineOf('state', state)).toBe('submitted (ESCROW_MISSING)');
  expect(lineOf('state', { ...state, from: 'submitted', to: 'assigned', code: null })).toBe('submitted → assigned');
});

it('tells what was counted on the edges of the net', () => {
  const edge = { edge: 'n0', values: 100, saturatedValues: 1, errors: 100, saturatedErrors: 0, zeroErrors: 25 };
  const step = { step: 4, of: 8, loss: null, accuracy: null, samplesPerSecond: null, edges: [edge] };
  expect(lineOf('progress', step)).toBe('step 4 of 8  saturated 0.5 %  zero errors 25 %');
  expect(lineOf('training', { ...step, round: 1, worker: 0 })).toContain('saturated 0.5 %  zero errors 25 %');
});

it('tells what was measured on the validation set, exactly, and what the numbers are', () => {
  const metrics = [{ metric: 'accuracy', numerator: '9', denominator: '12' }];
  expect(lineOf('evaluation', { step: 8, metrics })).toBe(
    'validation at step 8  accuracy 9/12 (rows right of rows with a label)',
  );
  const loss = { metric: 'loss', numerator: '6428818', denominator: '200' };
  expect(lineOf('evaluation', { step: 8, metrics: [loss] })).toBe(
    'validation at step 8  loss 0.4905 nats a row (exact loss 6428818/200 × 2^-16)',
  );
});

it.each(Object.keys(metricKinds))('says of %s what its numbers are', (metric) => {
  const line = lineOf('evaluation', { step: 8, metrics: [{ metric, numerator: '3', denominator: '4' }] });
  expect(line).toMatch(/^validation at step 8 {2}[a-z-]+ [^(]+ \([a-z].*\)$/);
});

it('is one line and shows what is unseen, whatever a node or the control plane wrote', () => {
  const odd = '\u001b[2J\nrunning → settled\u202e';
  const shown = '⟨U+001B⟩[2J⟨U+000A⟩running → settled⟨U+202E⟩';
  const metrics = [{ metric: odd, numerator: '1', denominator: '2' }];
  expect(lineOf('evaluation', { step: 4, metrics })).toBe(`validation at step 4  ${shown} 1/2`);
  const failed = { from: 'running', to: 'failed', code: odd };
  expect(lineOf('state', failed)).toBe(`running → failed (${shown})`);
});

it('names an event that it has no words for', () => {
  expect(lineOf('later', {})).toBe('later');
});

it('tells what became of the escrow, and that the result is there', () => {
  expect(lineOf('escrow', { escrowState: 'started', transaction: '0xaa' })).toBe('escrow started');
  expect(lineOf('delivery', { digest: 'aa' })).toBe('the encrypted result is at the control plane');
});
