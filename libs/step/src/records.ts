/**
 * Records, blocks and superblocks: n_0 feature bytes, then one label byte, record after record (libs/step/SPEC.md §9,
 * §11).
 */
import { refuse } from './errors.js';
import { checkLabels, type IdxImages } from './idx.js';
import { isNet, type JobManifest } from './job-manifest.js';
import { classCount, featureCount, type Manifest } from './manifest.js';
import { netRecordLayout } from './net/records.js';

/** Features and labels of whole blocks, apart, as the engine reads them. */
export interface Examples {
  readonly count: number;
  /** count·n_0 bytes. */
  readonly features: Uint8Array;
  /** count bytes, each below the number of classes. */
  readonly labels: Uint8Array;
}

export function recordBytes(m: JobManifest): number {
  return isNet(m) ? netRecordLayout(m).recordBytes : featureCount(m) + 1;
}

/** Bytes of one superblock's records: S·B records. */
export function superblockBytes(m: JobManifest): number {
  return m.superblock * m.batch * recordBytes(m);
}

/**
 * Writes images and labels as records, in the order of `indices`.
 *
 * @throws Rejection RECORDS_COUNT when images and labels differ in number
 */
export function makeRecords(images: IdxImages, labels: Uint8Array, indices: Uint32Array): Uint8Array {
  if (images.count !== labels.length || indices.length !== labels.length) {
    refuse('RECORDS_COUNT', `${images.count} labels and indices`, `${labels.length}, ${indices.length}`, rule);
  }
  const { pixels, data } = images;
  const records = new Uint8Array(indices.length * (pixels + 1));
  indices.forEach((index, place) => {
    const offset = place * (pixels + 1);
    records.set(data.subarray(index * pixels, (index + 1) * pixels), offset);
    records[offset + pixels] = labels[index]!;
  });
  return records;
}

/** `count` records from `first` on; views. */
export function sliceExamples(m: Manifest, { features, labels }: Examples, first: number, count: number): Examples {
  const part = (values: Uint8Array, width: number) => values.subarray(first * width, (first + count) * width);
  return { count, features: part(features, featureCount(m)), labels: part(labels, 1) };
}

/** The records of superblock `index`; a view. */
export function superblockRecords(m: JobManifest, records: Uint8Array, index: number): Uint8Array {
  const size = superblockBytes(m);
  if ((index + 1) * size > records.length) refuse('RECORDS_LENGTH', `superblock ${index}`, records.length, rule);
  return records.subarray(index * size, (index + 1) * size);
}

/**
 * Splits records into features and labels.
 *
 * @throws Rejection RECORDS_LENGTH, LABEL_RANGE
 */
export function splitRecords(m: Manifest, records: Uint8Array): Examples {
  const size = recordBytes(m);
  if (records.length === 0 || records.length % size !== 0) {
    refuse('RECORDS_LENGTH', `whole records of ${size} bytes`, records.length, rule);
  }
  const count = records.length / size;
  const features = new Uint8Array(count * (size - 1));
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    features.set(records.subarray(i * size, (i + 1) * size - 1), i * (size - 1));
    labels[i] = records[(i + 1) * size - 1]!;
  }
  checkLabels(labels, classCount(m));
  return { count, features, labels };
}

/**
 * Images and labels in shuffled order without the detour over records.
 *
 * @throws Rejection RECORDS_COUNT, RECORDS_WIDTH, LABEL_RANGE
 */
export function orderExamples(m: Manifest, images: IdxImages, labels: Uint8Array, indices: Uint32Array): Examples {
  if (images.pixels !== featureCount(m))
    refuse('RECORDS_WIDTH', `${featureCount(m)} bytes per image`, images.pixels, rule);
  if (images.count !== labels.length || indices.length !== labels.length) {
    refuse('RECORDS_COUNT', `${images.count} labels and indices`, `${labels.length}, ${indices.length}`, rule);
  }
  checkLabels(labels, classCount(m));
  const { pixels, data } = images;
  const features = new Uint8Array(indices.length * pixels);
  indices.forEach((index, place) => {
    features.set(data.subarray(index * pixels, (index + 1) * pixels), place * pixels);
  });
  return { count: indices.length, features, labels: Uint8Array.from(indices, (index) => labels[index]!) };
}

const rule = 'libs/step/SPEC.md §11';
