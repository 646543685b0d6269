import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { accuracyPartSeed, accuracyPlans, type AccuracyDocument } from '#libs/proof';
import {
  encodeWeights,
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  profileManifest,
  sliceExamples,
} from '#libs/step';
import { createCommitter } from '#libs/zk/commit';
import { writeIdx } from '#test/idx-file';
import { requireRecords, requireWeights } from './accuracy-openings.js';

const manifest = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 20, seed: `0x${'5a'.repeat(32)}` });
const folder = mkdtempSync(join(tmpdir(), 'veritrain-accuracy-openings-'));
const [count, sizes] = [24, [16, 8]];
const [dataSeed, weightsSeed] = [17, 18].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array];
const weights = initialWeights(manifest);

function file(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const own = {
  images: writeIdx(join(folder, 'images'), [count, 2, 3], (i) => (i * 73 + (i >> 3)) & 255),
  labels: writeIdx(join(folder, 'labels'), [count], (i) => i % 3),
  dataSeed: file('data-seed', `${hex(dataSeed)}\n`),
  weights: file('weights', encodeWeights(weights)),
  weightsSeed: file('weights-seed', `0x${hex(weightsSeed)}`),
};

/** A statement in two parts about the files; nothing here asks for its proofs. */
function statement(): AccuracyDocument {
  const zero = { root: new Uint8Array(32), ood: new Uint8Array(32) };
  const form: AccuracyDocument = {
    ...{ backend: 'accuracy', jobId: new Uint8Array(32), manifest, profile: 'small', weights: zero },
    parts: sizes.map((records) => ({ records, correct: 0, data: zero })),
  };
  const plans = accuracyPlans(form);
  const inOrder = Uint32Array.from({ length: count }, (_, i) => i);
  const records = [parseIdxImages(readFileSync(own.images)), parseIdxLabels(readFileSync(own.labels))] as const;
  const examples = orderExamples(manifest, ...records, inOrder);
  const parts = form.parts.map((part, k) => {
    const ofPart = sliceExamples(manifest, examples, k === 0 ? 0 : sizes[0]!, part.records);
    return { ...part, data: createCommitter(plans[k]!).data(ofPart, accuracyPartSeed(dataSeed, k, plans[k]!, ofPart)) };
  });
  return { ...form, parts, weights: createCommitter(plans[0]!).weights(weights, weightsSeed) };
}

const document = statement();

function codeOf(files: typeof own, stated = document): string {
  try {
    requireRecords(stated, files);
    requireWeights(stated, files);
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
  return 'ours';
}

it('takes a statement about the files', () => {
  expect(codeOf(own)).toBe('ours');
});

it.each<[string, keyof typeof own, (bytes: Buffer) => Uint8Array, string]>([
  ['a pixel of the first part', 'images', (bytes) => flipped(bytes, 16 + 5), 'ACCURACY_COMMITMENT'],
  ['a pixel of the last part', 'images', (bytes) => flipped(bytes, bytes.length - 1), 'ACCURACY_COMMITMENT'],
  ['a label', 'labels', (bytes) => flipped(bytes, 8 + 3), 'ACCURACY_COMMITMENT'],
  ['the seed of the records', 'dataSeed', (bytes) => flipped(bytes, 0), 'ACCURACY_COMMITMENT'],
  ['a weight', 'weights', (bytes) => flipped(bytes, bytes.length - 8), 'ACCURACY_COMMITMENT'],
  ['the seed of the weights', 'weightsSeed', (bytes) => flipped(bytes, 2), 'ACCURACY_COMMITMENT'],
  ['a seed, for it is none', 'weightsSeed', (bytes) => bytes.subarray(1), 'SECRET_FILE'],
  ['the number of labels', 'labels', (bytes) => fewer(bytes), 'RECORDS_COUNT'],
  ['the length of the weights', 'weights', (bytes) => bytes.subarray(1), 'WEIGHTS_LENGTH'],
])('refuses it where %s is another', (_what, name, change, code) => {
  expect(codeOf({ ...own, [name]: file('other', change(readFileSync(own[name]))) })).toBe(code);
});

function flipped(bytes: Buffer, place: number): Uint8Array {
  bytes[place]! ^= 1;
  return bytes;
}

function fewer(labels: Buffer): Uint8Array {
  labels.writeUInt32BE(count - 1, 4);
  return labels.subarray(0, -1);
}

it('refuses it where it is about fewer records, or has its parts in another order', () => {
  const [first, last] = document.parts;
  expect(codeOf(own, { ...document, parts: [first!] })).toBe('ACCURACY_COMMITMENT');
  expect(codeOf(own, { ...document, parts: [last!, first!] })).toBe('ACCURACY_COMMITMENT');
});
