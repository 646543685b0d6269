import { describe, expect, it } from 'vitest';
import { parseJobManifest } from './job-manifest.js';
import { checkStateSize } from './state-size.js';

const net = (out: number) =>
  parseJobManifest({
    ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 4, steps: 4, a: 8, g: 12, wint: 3 },
    input: { shape: [4], dtype: 'uint8', frac: 8 },
    layers: [{ op: 'dense', out, bias: false }, { op: 'relu' }, { op: 'dense', out: 4, bias: false }],
    loss: { kind: 'softmax-ce', E: 12, k: 28 },
    optimizer: { kind: 'sgd', lr: { frac: 16, points: [[0, 6554]] } },
  });
/** 8 numbers of 8 bytes for each hidden one. */
const most = 11_272_192 / 64;
const plan = {};

describe('a state at a border', () => {
  it.each([
    ['of one enclave', most + 1, { proving: null }],
    ['of one worker', most + 1, { proving: null, parallel: 1 }],
    ['of two workers', most, { proving: null, parallel: 2 }],
    ['of steps that are proved', most, { proving: plan }],
  ])('%s may have %d numbers eight times', (_, hidden, sharing) => {
    expect(() => checkStateSize(net(hidden), sharing)).not.toThrow();
  });

  it.each([
    ['of two workers', { proving: null, parallel: 2 }, / in a job of 2 workers, got 11272256 bytes/],
    ['of steps that are proved', { proving: plan }, / in a job whose steps are proved, got 11272256 bytes/],
  ])('%s is refused above 11,272,192 bytes: JOB_SIZE', (_, sharing, said) => {
    const check = () => checkStateSize(net(most + 1), sharing);
    expect(check).toThrow(/^JOB_SIZE/);
    expect(check).toThrow(said);
  });
});
