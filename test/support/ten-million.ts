/** Two nets of ten million parameters with AdamW, batch 32, and files that they train on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { concatBytes, uintBe } from '#attestation/base';
import { block } from '../bench/model-nets.js';

interface LargeRun {
  readonly name: string;
  /** Arguments of `veritrain train`, but for --out and what a checkpoint needs. */
  readonly args: readonly string[];
}

const seed = `0x${'1e'.repeat(32)}`;
const lr = {
  frac: 24,
  points: [
    [0, 336],
    [4, 3_355],
  ],
};
const common = {
  ...{ fxt: 2, seed, a: 8, g: 12, wint: 3, batch: 32 },
  optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], decay: 655, clip: 1500, lr },
};
const dense = (out: number, more: object = {}) => ({ op: 'dense', out, ...more });
const records = 128;

/** 10,020,874 parameters. */
export function denseRun(folder: string, steps: number): LargeRun {
  const hidden = Array.from({ length: 3 }, () => [dense(2048), { op: 'relu' }]).flat();
  const manifest = {
    ...{ ...common, steps, input: { shape: [28, 28, 1], frac: 8 }, loss: { kind: 'softmax-ce', E: 12, k: 28 } },
    layers: [{ op: 'flatten' }, ...hidden, dense(10)],
  };
  const pixels = Uint8Array.from({ length: records * 784 }, (_, i) => (i * 97 + (i >> 5) * 31) & 255);
  const labels = Uint8Array.from({ length: records }, (_, i) => (i * 7) % 10);
  const head = (magic: number, ...sides: number[]) => concatBytes(...[magic, ...sides].map((one) => uintBe(one, 4)));
  const [path, data, classes] = ['dense.json', 'images-idx3-ubyte', 'labels-idx1-ubyte'].map((name) =>
    join(folder, name),
  );
  writeFileSync(path!, JSON.stringify(manifest));
  writeFileSync(data!, concatBytes(head(0x803, records, 28, 28), pixels));
  writeFileSync(classes!, concatBytes(head(0x801, records), labels));
  return {
    name: 'dense 2048 ×3',
    args: ['train', '--manifest', path!, '--data', data!, '--labels', classes!, '--validation', '0'],
  };
}

const [width, heads, depth, context] = [384, 6, 6, 64];
/** 64 characters; the tokenizer of characters adds two tokens of its own. */
const alphabet = Array.from({ length: 64 }, (_, i) => String.fromCharCode(48 + i)).join('');
const vocab = alphabet.length + 2;

/** 10,697,088 parameters. */
export function transformerRun(folder: string, steps: number): LargeRun {
  const manifest = {
    ...{ ...common, steps, input: { shape: [context], tokens: true }, labelShape: [context] },
    layers: [
      { id: 'emb', op: 'embedding', vocab, out: width },
      { id: 'pos', op: 'position' },
      ...Array.from({ length: depth }, (_, at) => block(at, width, heads)).flat(),
      ...[{ op: 'rmsnorm' }, dense(vocab, { bias: false })],
    ],
    loss: { kind: 'softmax-ce', E: 12, k: 36 },
  };
  const [path, data] = ['transformer.json', 'text.txt'].map((name) => join(folder, name));
  const text = Array.from({ length: records * context }, (_, i) => alphabet[(i * i + (i >> 3)) % alphabet.length]);
  writeFileSync(path!, JSON.stringify(manifest));
  writeFileSync(data!, `${alphabet}${text.join('')}`);
  const reading = ['--tokens', `${context}`, '--validation', '0'];
  return { name: 'transformer 6 × 384', args: ['train', '--manifest', path!, '--data', data!, ...reading] };
}
