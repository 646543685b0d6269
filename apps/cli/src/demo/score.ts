/** Scores an exported model as its user would: an ordinary ONNX network in an ordinary runtime. */
import { InferenceSession, Tensor } from '#libs/onnx';
import type { IdxImages } from '#libs/step';

const rowsPerRun = 1000;

/** @returns share of images whose largest logit is the label's; 0…1 */
export async function accuracyOf(model: Uint8Array, images: IdxImages, labels: Uint8Array): Promise<number> {
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  let right = 0;
  try {
    for (let first = 0; first < images.count; first += rowsPerRun) {
      const rows = Math.min(rowsPerRun, images.count - first);
      const pixels = images.data.slice(first * images.pixels, (first + rows) * images.pixels);
      const { logits } = await session.run({ image: new Tensor('uint8', pixels, [rows, images.pixels]) });
      right += rightAnswers(logits!.data as Float32Array, labels.subarray(first, first + rows));
    }
  } finally {
    await session.release();
  }
  return right / images.count;
}

function rightAnswers(logits: Float32Array, labels: Uint8Array): number {
  const classes = logits.length / labels.length;
  return labels.reduce((sum, label, row) => {
    const scores = logits.subarray(row * classes, (row + 1) * classes);
    return sum + (scores.indexOf(Math.max(...scores)) === label ? 1 : 0);
  }, 0);
}
