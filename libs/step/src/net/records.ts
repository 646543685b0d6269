/** Records of layout 2 as a net reads them (libs/step/SPEC.md §25): little-endian features, then the label. */
import { Rejection } from '#attestation/base';
import { refuse } from '../errors.js';
import type { NetExamples } from './examples.js';
import { recordLayout, type DataHeader, type RecordLayout } from './header.js';
import type { NetLayer } from './edge.js';
import type { LabelLayout } from './losses/loss.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { sizeOf } from '../tensors.js';

const rule = 'libs/step/SPEC.md §25';

/** What a header says of features and label without their columns. */
type Held = Pick<DataHeader, 'features' | 'label'>;

/** A net may ask for several classes of a record, which no header names. */
export function netRecordLayout(m: NetManifest): RecordLayout {
  const layout = recordLayout(heldBy(m));
  const labelBytes = layout.labelBytes * classesAsked(m);
  return { ...layout, labelBytes, recordBytes: layout.featureBytes + labelBytes };
}

function classesAsked(m: NetManifest): number {
  const { kind, shape } = netOf(m).labels;
  return kind === 'class' ? sizeOf(shape) : 1;
}

/** @throws Rejection HEADER_FIT when the data set's records are not what the net reads */
export function checkHeaderFits(m: NetManifest, header: DataHeader): void {
  const asked = classesAsked(m);
  const [own, got] = [heldBy(m), header].map(described);
  const expected = asked === 1 ? own : `${own} for each of ${asked} places`;
  if (expected === got) return;
  const action = 'give the data that the manifest was planned for, or plan anew for these (veritrain model init)';
  throw new Rejection('HEADER_FIT', { expected: `records of ${expected}`, got: got!, rule, action });
}

/**
 * Splits records into features and labels.
 *
 * @throws Rejection RECORDS_LENGTH, LABEL_RANGE, TOKEN_RANGE
 */
export function splitNetRecords(m: NetManifest, records: Uint8Array): NetExamples {
  const { recordBytes, features: width, featureSize, featureBytes } = netRecordLayout(m);
  if (records.length === 0 || records.length % recordBytes !== 0) {
    refuse('RECORDS_LENGTH', `whole records of ${recordBytes} bytes`, records.length, rule);
  }
  const { labels: layout } = netOf(m);
  const count = records.length / recordBytes;
  const features = emptyFeatures(m, count * width);
  const own = sizeOf(layout.shape);
  const labels = new Int32Array(count * own);
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  const feature = featureReader(view, m, featureSize);
  const label = labelReader(view, layout);
  for (let i = 0; i < count; i++) {
    const at = i * recordBytes;
    for (let j = 0; j < width; j++) features[i * width + j] = feature(at + j * featureSize);
    for (let j = 0; j < own; j++) {
      // The label of tokens is the features moved on by one.
      const from = layout.kind === 'tokens' ? at + (j + 1) * featureSize : at + featureBytes;
      labels[i * own + j] = layout.kind === 'tokens' ? feature(from) : label(from, j);
    }
  }
  checkRanges(m, { count, features, labels });
  return { count, features, labels };
}

function emptyFeatures({ input }: NetManifest, length: number): NetExamples['features'] {
  if ('tokens' in input) return new Int32Array(length);
  return new { uint8: Uint8Array, int16: Int16Array, int32: Int32Array }[input.dtype](length);
}

function featureReader(view: DataView, { input }: NetManifest, size: 1 | 2 | 4): (at: number) => number {
  if (size === 1) return (at) => view.getUint8(at);
  if ('tokens' in input) return size === 2 ? (at) => view.getUint16(at, true) : (at) => view.getUint32(at, true);
  return size === 2 ? (at) => view.getInt16(at, true) : (at) => view.getInt32(at, true);
}

function labelReader(view: DataView, { kind, below = 0 }: LabelLayout): (at: number, j: number) => number {
  if (kind === 'real') return (at, j) => view.getInt32(at + 4 * j, true);
  if (kind === 'class' && below > 256) return (at, j) => view.getUint16(at + 2 * j, true);
  return (at, j) => view.getUint8(at + j);
}

/** @throws Rejection LABEL_RANGE, TOKEN_RANGE; neither names a value, for the enclave's refusals leave it */
function checkRanges(m: NetManifest, { features, labels }: NetExamples): void {
  const { labels: layout, layers } = netOf(m);
  if (layout.below !== undefined && labels.some((label) => label < 0 || label >= layout.below!)) {
    refuse('LABEL_RANGE', `labels below ${layout.below}`, 'a label out of range', rule);
  }
  const vocabulary = vocabularyOf(layers);
  if (vocabulary !== undefined && features.some((token: number) => token < 0 || token >= vocabulary)) {
    refuse('TOKEN_RANGE', `tokens below ${vocabulary}`, 'a token out of range', rule);
  }
}

/** Tokens that every layer that reads them knows; undefined where the input is no tokens. */
function vocabularyOf(layers: readonly NetLayer[]): number | undefined {
  const readers = layers.filter(({ inputs }) => inputs.some(({ element }) => element === 'token'));
  const sizes = readers.map(({ members }) => (members as { readonly vocab?: number }).vocab ?? 0);
  return sizes.length === 0 ? undefined : Math.min(...sizes);
}

function heldBy(m: NetManifest): Held {
  const { labels, layers } = netOf(m);
  const { input } = m;
  const features: Held['features'] =
    'tokens' in input
      ? { dtype: 'tokens', shape: [sizeOf(input.shape)], vocab: vocabularyOf(layers)! }
      : { dtype: input.dtype, shape: input.shape, frac: input.frac };
  return { features, label: labelOf(m, labels) };
}

function labelOf(m: NetManifest, { kind, shape, below = 2 }: LabelLayout): Held['label'] {
  const count = sizeOf(shape);
  if (kind === 'tokens') return { kind };
  if (kind === 'class') return { kind, classes: below, columns: [] };
  if (kind === 'vector') return { kind, count, columns: [] };
  return { kind, count, frac: netOf(m).output.a, columns: [] };
}

function described({ features, label }: Held): string {
  const { dtype, shape } = features;
  const more = features.dtype === 'tokens' ? `vocabulary ${features.vocab}` : `fraction ${features.frac}`;
  const size = {
    ...{ class: () => ('classes' in label ? `${label.classes} classes` : ''), tokens: () => 'the next tokens' },
    ...{ vector: () => ('count' in label ? `${label.count} bits` : '') },
    real: () => ('frac' in label ? `${label.count} reals at fraction ${label.frac}` : ''),
  }[label.kind]();
  return `${dtype} [${shape.join()}], ${more}, and ${size}`;
}
