import { expect, it } from 'vitest';
import { handMade } from '#test/onnx-files';
import { endsOf, endWords } from './file-ends.js';

const [float32, uint8] = [1, 2];
const ofType = (type: number): Uint8Array => handMade(['n', 3], (graph, x) => graph.node('Cast', [x]), 20, type);

it('are told by a file of bytes, which nobody scales before, and by no other of strangers', () => {
  const ends = endsOf(ofType(uint8), {});
  expect(ends).toMatchObject({ inputs: 'raw', outputs: 'raw' });
  expect(endWords(ends, { takesNumbers: true, answersNumbers: false })).toEqual([
    expect.stringMatching(/^The file takes whole numbers from 0 to 255 \(uint8\); without --inputs that decides/),
    expect.stringMatching(/^The file is taken to expect your own numbers/),
  ]);
  expect(endsOf(ofType(float32), {})).toEqual({ inputs: 'scaled', outputs: 'scaled', told: null });
});

it('are those of the options, whatever the file tells', () => {
  expect(endsOf(ofType(uint8), { inputs: 'scaled' })).toEqual({ inputs: 'scaled', outputs: 'scaled', told: null });
  expect(endsOf(ofType(uint8), { outputs: 'scaled' })).toMatchObject({ inputs: 'raw', outputs: 'scaled' });
  expect(endsOf(ofType(float32), { outputs: 'raw' })).toMatchObject({ inputs: 'scaled', outputs: 'raw' });
});
