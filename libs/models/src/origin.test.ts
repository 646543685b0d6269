/** The digest in an exported file is read back, and hostile files end in a code. */
import { expect, it } from 'vitest';
import { exportedFile, exportedFiles } from '#test/onnx-files';
import { decodeModel } from './onnx/decode.js';
import { originOf, withOrigin } from './origin.js';

const origin = { jobId: 'ab'.repeat(32), weights: 'cd'.repeat(32) };
const plain = exportedFiles.map(exportedFile).toSorted((a, b) => a.length - b.length)[0]!;

it('stands behind the model, which stays what it was', () => {
  const marked = withOrigin(plain, origin);
  expect(originOf(marked)).toEqual(origin);
  expect(decodeModel(marked)).toEqual(decodeModel(plain));
});

it('is not there where nobody wrote it, and not of half a pair', () => {
  expect(originOf(plain)).toBeNull();
  expect(originOf(new Uint8Array())).toBeNull();
  expect(
    originOf(withOrigin(plain, origin).subarray(0, plain.length + 2 + 2 + 'veritrain.job'.length + 2 + 64)),
  ).toBeNull();
});

it('of a file cut anywhere is a code, nothing, or itself', () => {
  const marked = withOrigin(plain, origin);
  for (let end = 0; end < marked.length; end++) {
    try {
      expect([null, origin]).toContainEqual(originOf(marked.subarray(0, end)));
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^ONNX_/) as string });
    }
  }
});
