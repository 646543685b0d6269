/**
 * The header of a data set in record layout 2 (libs/step/DATA.md): what its records hold and how the integers come from
 * a user's columns. It is part of the commitment, and of a delivered model, so that new data is read the same way.
 */
import { fromUtf8, taggedDigest, utf8 } from '#attestation/base';
import { canonicalJson, type CanonicalValue } from '../canonical-json.js';
import * as limits from '../limits.js';
import { columnWidth, parseColumns, type Column } from './columns.js';
import * as read from './header-members.js';

interface IntegerFeatures {
  readonly dtype: 'uint8' | 'int16' | 'int32';
  readonly shape: readonly number[];
  /** Integer v stands for v·2^-frac. */
  readonly frac: number;
}

/** T token ids below `vocab`: uint16 up to 65,536 of them, else uint32. */
interface TokenFeatures {
  readonly dtype: 'tokens';
  readonly shape: readonly [number];
  readonly vocab: number;
}

export type Features = IntegerFeatures | TokenFeatures;

/**
 * `class`: uint8 up to 256 classes, else uint16. `vector`: `count` bytes of 0 or 1. `real`: `count` int32 at `frac`.
 * `tokens`: one more token; the label is the last T of T+1. `columns` may be empty where nothing is known of them.
 */
export type Label =
  | { readonly kind: 'class'; readonly classes: number; readonly columns: readonly Column[] }
  | { readonly kind: 'vector'; readonly count: number; readonly columns: readonly Column[] }
  | { readonly kind: 'real'; readonly count: number; readonly frac: number; readonly columns: readonly Column[] }
  | { readonly kind: 'tokens' };

export interface DataHeader {
  readonly layout: 2;
  readonly features: Features;
  readonly label: Label;
  /** In the order of the features; empty: the integers of the source as they are. */
  readonly columns: readonly Column[];
  /** Rows of each; `given`: training and validation set came as two files and have the same header. */
  readonly split: { readonly train: number; readonly validation: number } | 'given';
  /** SHA-256 of the tokenizer's file, 0x and 64 digits. */
  readonly tokenizer: { readonly name: string; readonly sha256: string } | null;
}

export interface RecordLayout {
  /** Features of a record: the product of the shape. */
  readonly features: number;
  /** Bytes of one feature. */
  readonly featureSize: 1 | 2 | 4;
  readonly featureBytes: number;
  /** Bytes behind the features: the label, for tokens the one token that follows the first T. */
  readonly labelBytes: number;
  readonly recordBytes: number;
}

/**
 * @param json a parsed JSON value
 * @throws Rejection HEADER_LAYOUT, HEADER_TYPE, HEADER_UNKNOWN_FIELD, HEADER_MISSING_FIELD, HEADER_RANGE, HEADER_LENGTH,
 *   HEADER_NAME, HEADER_TWICE, HEADER_KIND, HEADER_MISSING, HEADER_FIT, HEADER_WIDTH, HEADER_SPLIT, HEADER_TOKENS,
 *   HEADER_DIGEST, HEADER_OVERSIZE
 */
export function parseDataHeader(json: unknown): DataHeader {
  const o = read.object(json, 'header');
  read.onlyMembers(o, ['layout', 'features', 'label', 'columns', 'split', 'tokenizer'], 'header');
  if (o.layout !== 2) read.refuseHeader('LAYOUT', 'layout 2', o.layout);
  const header: DataHeader = {
    layout: 2,
    features: parseFeatures(o.features),
    label: parseLabel(o.label),
    columns: parseColumns(o.columns, 'columns'),
    split: parseSplit(o.split),
    tokenizer: parseTokenizer(o.tokenizer),
  };
  checkColumns(header);
  const { length } = canonicalHeader(header);
  if (length > limits.headerBytesMax) read.refuseHeader('OVERSIZE', `at most ${limits.headerBytesMax} bytes`, length);
  return header;
}

/**
 * @param bytes UTF-8 JSON text
 * @throws Rejection HEADER_OVERSIZE, HEADER_JSON, BYTES_UTF8 and those of `parseDataHeader`
 */
export function parseHeaderText(bytes: Uint8Array): DataHeader {
  if (bytes.length > limits.headerBytesMax) {
    read.refuseHeader('OVERSIZE', `at most ${limits.headerBytesMax} bytes`, bytes.length);
  }
  const text = fromUtf8(bytes);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    read.refuseHeader('JSON', 'JSON text', text);
  }
  return parseDataHeader(json);
}

/** RFC 8785 of the header. */
export function canonicalHeader(header: DataHeader): Uint8Array {
  return utf8(canonicalJson(header as unknown as CanonicalValue));
}

/** Binds the header in the root of the data set; 32 bytes. */
export function layoutDigest(header: DataHeader): Uint8Array {
  return taggedDigest('veritrain/layout/v2', canonicalHeader(header));
}

export function recordLayout({ features, label }: Pick<DataHeader, 'features' | 'label'>): RecordLayout {
  const count = features.shape.reduce((product, side) => product * side, 1);
  const featureSize = sizeOf(features);
  const featureBytes = count * featureSize;
  const labelBytes = labelBytesOf(label, featureSize);
  return { features: count, featureSize, featureBytes, labelBytes, recordBytes: featureBytes + labelBytes };
}

function sizeOf(features: Features): 1 | 2 | 4 {
  if (features.dtype === 'tokens') return features.vocab <= 65_536 ? 2 : 4;
  return ({ uint8: 1, int16: 2, int32: 4 } as const)[features.dtype];
}

function labelBytesOf(label: Label, featureSize: number): number {
  switch (label.kind) {
    case 'class':
      return label.classes <= 256 ? 1 : 2;
    case 'vector':
      return label.count;
    case 'real':
      return 4 * label.count;
    case 'tokens':
      return featureSize;
  }
}

function parseFeatures(value: unknown): Features {
  const o = read.object(value, 'features');
  const axes = o.dtype === 'tokens' ? 1 : limits.featureAxesMax;
  read.onlyMembers(o, ['dtype', 'shape', o.dtype === 'tokens' ? 'vocab' : 'frac'], 'features');
  const shape = read
    .list(o.shape, 'features.shape', axes, 1)
    .map((side, index) => read.integer(side, `features.shape[${index}]`, 1, limits.featuresMax));
  const count = shape.reduce((product, side) => product * side, 1);
  if (count > limits.featuresMax) read.refuseHeader('RANGE', `at most ${limits.featuresMax} features`, count);
  switch (o.dtype) {
    case 'uint8':
    case 'int16':
    case 'int32':
      return { dtype: o.dtype, shape, frac: read.integer(o.frac, 'features.frac', 0, limits.fractionMax) };
    case 'tokens':
      return {
        dtype: 'tokens',
        shape: [shape[0]!],
        vocab: read.integer(o.vocab, 'features.vocab', 2, limits.vocabularyMax),
      };
    default:
      return read.refuseHeader('KIND', 'features.dtype uint8, int16, int32 or tokens', o.dtype);
  }
}

function parseLabel(value: unknown): Label {
  const o = read.object(value, 'label');
  const columns = (): readonly Column[] => parseColumns(o.columns, 'label.columns');
  const count = (): number => read.integer(o.count, 'label.count', 1, limits.targetsMax);
  switch (o.kind) {
    case 'class':
      read.onlyMembers(o, ['kind', 'classes', 'columns'], 'label');
      return {
        kind: 'class',
        classes: read.integer(o.classes, 'label.classes', 2, limits.classesMax),
        columns: columns(),
      };
    case 'vector':
      read.onlyMembers(o, ['kind', 'count', 'columns'], 'label');
      return { kind: 'vector', count: count(), columns: columns() };
    case 'real':
      read.onlyMembers(o, ['kind', 'count', 'frac', 'columns'], 'label');
      return {
        kind: 'real',
        count: count(),
        frac: read.integer(o.frac, 'label.frac', 0, limits.fractionMax),
        columns: columns(),
      };
    case 'tokens':
      read.onlyMembers(o, ['kind'], 'label');
      return { kind: 'tokens' };
    default:
      return read.refuseHeader('KIND', 'label.kind class, vector, real or tokens', o.kind);
  }
}

function parseSplit(value: unknown): DataHeader['split'] {
  if (value === 'given') return 'given';
  if (typeof value === 'string') return read.refuseHeader('SPLIT', 'split as counts, or "given"', value);
  const o = read.object(value, 'split');
  read.onlyMembers(o, ['train', 'validation'], 'split');
  return {
    train: read.integer(o.train, 'split.train', 1, Number.MAX_SAFE_INTEGER),
    validation: read.integer(o.validation, 'split.validation', 0, Number.MAX_SAFE_INTEGER),
  };
}

function parseTokenizer(value: unknown): DataHeader['tokenizer'] {
  if (value === null) return null;
  const o = read.object(value, 'tokenizer');
  read.onlyMembers(o, ['name', 'sha256'], 'tokenizer');
  if (typeof o.sha256 !== 'string' || !/^0x[0-9a-f]{64}$/.test(o.sha256)) {
    return read.refuseHeader('DIGEST', 'tokenizer.sha256 as 0x and 64 lower-case hexadecimal digits', o.sha256);
  }
  return { name: read.name(o.name, 'tokenizer'), sha256: o.sha256 };
}

/** Columns and what they fill agree; text, tokens and tokenizer come together. */
function checkColumns({ features, label, columns, tokenizer }: DataHeader): void {
  const isTokens = features.dtype === 'tokens';
  const isText = columns.length === 1 && columns[0]!.kind === 'text';
  if (columns.some(({ kind }) => kind === 'text') && !isTokens) {
    read.refuseHeader('TOKENS', 'features of tokens for a text column', features.dtype);
  }
  if ((label.kind === 'tokens' || tokenizer !== null) && !isTokens) {
    read.refuseHeader('TOKENS', 'features of tokens for a label of tokens or a tokenizer', features.dtype);
  }
  if (isTokens && columns.length > 0 && !isText) {
    read.refuseHeader('TOKENS', 'no columns, or one text column, with features of tokens', columns.length);
  }
  const { features: count } = recordLayout({ features, label });
  checkWidth(columns, count, 'features', [
    ...['number', 'missing', 'category', 'flag', 'integer'],
    ...(columns.length === 1 ? ['image', 'text'] : []),
  ]);
  if (label.kind === 'tokens') return;
  const width = label.kind === 'class' ? label.classes : label.count;
  const kinds = { class: ['category'], vector: ['flag', 'category'], real: ['number'] }[label.kind];
  checkWidth(label.columns, width, 'the label', kinds);
}

function checkWidth(columns: readonly Column[], expected: number, of: string, kinds: readonly string[]): void {
  if (columns.length === 0) return;
  const other = columns.find(({ kind }) => !kinds.includes(kind));
  if (other !== undefined) read.refuseHeader('KIND', `columns of ${of}: ${kinds.join(' or ')}`, other.kind);
  const width = columns.reduce((sum, column) => sum + (columnWidth(column) ?? expected), 0);
  if (width !== expected) read.refuseHeader('WIDTH', `columns of ${of} that fill ${expected}`, width);
}
