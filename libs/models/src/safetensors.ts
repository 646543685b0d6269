/**
 * The safetensors format: eight bytes little-endian with the length of a JSON header, the header, and the tensors' bytes
 * (huggingface/safetensors, README "Format"). Every offset is checked: no overlap, no gap, nothing beyond the file.
 */
import { concatBytes, fromUtf8, utf8 } from '#attestation/base';
import { refuse } from './errors.js';
import {
  axesMax,
  constantElementsMax,
  nameBytesMax,
  safetensorsBytesMax,
  safetensorsHeaderBytesMax,
  tensorsMax,
} from './limits.js';
import { fromBfloat16, fromFloat16 } from './onnx/tensor.js';

export interface NamedTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** Reals as float64, or exact integers. */
  readonly values: Float64Array | BigInt64Array;
}

interface DataType {
  readonly bytes: number;
  read(view: DataView, size: number): Float64Array | BigInt64Array;
}

const reals =
  (bytes: number, at: (view: DataView, offset: number) => number) =>
  (view: DataView, size: number): Float64Array =>
    Float64Array.from({ length: size }, (_, i) => at(view, bytes * i));

const dataTypes: Readonly<Record<string, DataType>> = {
  BF16: { bytes: 2, read: reals(2, (view, at) => fromBfloat16(view.getUint16(at, true))) },
  F16: { bytes: 2, read: reals(2, (view, at) => fromFloat16(view.getUint16(at, true))) },
  F32: { bytes: 4, read: reals(4, (view, at) => view.getFloat32(at, true)) },
  F64: { bytes: 8, read: reals(8, (view, at) => view.getFloat64(at, true)) },
  I64: {
    bytes: 8,
    read: (view, size) => BigInt64Array.from({ length: size }, (_, i) => view.getBigInt64(8 * i, true)),
  },
};

interface Entry {
  readonly name: string;
  readonly type: DataType;
  readonly dims: readonly number[];
  readonly size: number;
  readonly from: number;
  readonly to: number;
}

/**
 * @returns tensors by the place of their bytes
 * @throws  Rejection SAFETENSORS_LIMIT, SAFETENSORS_HEADER, SAFETENSORS_TYPE, SAFETENSORS_OFFSETS
 */
export function readSafetensors(bytes: Uint8Array): readonly NamedTensor[] {
  if (bytes.length > safetensorsBytesMax) {
    refuse('SAFETENSORS_LIMIT', `a file of at most ${safetensorsBytesMax} bytes`, bytes.length);
  }
  const { length, members } = headerOf(bytes);
  const entries = entriesOf(members);
  checkOffsets(entries, bytes.length - 8 - length);
  return entries.map(({ name, type, dims, size, from, to }) => {
    const part = bytes.subarray(8 + length + from, 8 + length + to);
    return { name, dims, values: type.read(new DataView(part.buffer, part.byteOffset, part.byteLength), size) };
  });
}

/** @param bytes what follows the header may be cut off @throws Rejection SAFETENSORS_LIMIT, SAFETENSORS_HEADER */
export function headerOf(bytes: Uint8Array): { readonly length: number; readonly members: object } {
  if (bytes.length < 8) refuse('SAFETENSORS_HEADER', 'eight bytes with the length of the header', bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  if (length > safetensorsHeaderBytesMax) {
    refuse('SAFETENSORS_LIMIT', `a header of at most ${safetensorsHeaderBytesMax} bytes`, length);
  }
  if (8 + length > bytes.length) refuse('SAFETENSORS_HEADER', `a header of ${length} bytes`, bytes.length - 8);
  return { length, members: parsed(bytes.subarray(8, 8 + length)) };
}

function entriesOf(header: object): readonly Entry[] {
  const members = Object.entries(header).filter(([name]) => name !== '__metadata__');
  if (members.length > tensorsMax) refuse('SAFETENSORS_LIMIT', `at most ${tensorsMax} tensors`, members.length);
  const entries = members.map(([name, member]) => readEntry(name, member));
  const elements = entries.reduce((sum, { size }) => sum + size, 0);
  if (elements > constantElementsMax) {
    refuse('SAFETENSORS_LIMIT', `at most ${constantElementsMax} elements`, elements);
  }
  return entries.toSorted((a, b) => a.from - b.from || a.to - b.to);
}

function parsed(bytes: Uint8Array): object {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(bytes));
  } catch {
    return refuse('SAFETENSORS_HEADER', 'a header in JSON', 'other bytes');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('SAFETENSORS_HEADER', 'a JSON object', typeof value);
  }
  return value;
}

function readEntry(name: string, member: unknown): Entry {
  if (utf8(name).length > nameBytesMax) refuse('SAFETENSORS_LIMIT', `names of at most ${nameBytesMax} bytes`, name);
  const { dtype, shape, data_offsets: offsets } = (member ?? {}) as Readonly<Record<string, unknown>>;
  const type = typeof dtype === 'string' && Object.hasOwn(dataTypes, dtype) ? dataTypes[dtype] : undefined;
  if (type === undefined) {
    return refuse(
      'SAFETENSORS_TYPE',
      `"${name}" as ${Object.keys(dataTypes).join(', ')}`,
      typeof dtype === 'string' ? dtype : typeof dtype,
    );
  }
  const dims = sizes(shape, `the shape of "${name}"`, axesMax);
  const [from, to] = sizes(offsets, `data_offsets of "${name}"`, 2);
  const size = dims.reduce((product, side) => product * side, 1);
  if (from === undefined || to === undefined || to - from !== size * type.bytes) {
    return refuse('SAFETENSORS_OFFSETS', `${size * type.bytes} bytes for "${name}"`, `${from} to ${to}`);
  }
  return { name, type, dims, size, from, to };
}

function sizes(value: unknown, what: string, countMax: number): readonly number[] {
  const isList =
    Array.isArray(value) && value.length <= countMax && value.every((one) => Number.isSafeInteger(one) && one >= 0);
  return isList
    ? (value as number[])
    : refuse('SAFETENSORS_HEADER', `${what} as at most ${countMax} whole numbers`, typeof value);
}

/** Tensors lie one after the other and fill what follows the header. */
function checkOffsets(entries: readonly Entry[], size: number): void {
  let at = 0;
  for (const { name, from, to } of entries) {
    if (from !== at) refuse('SAFETENSORS_OFFSETS', `"${name}" from byte ${at}`, from);
    at = to;
  }
  if (at !== size) refuse('SAFETENSORS_OFFSETS', `${at} bytes of tensors`, size);
}

/** Floats are written as F32, integers as I64. @returns a file with the tensors in their order */
export function writeSafetensors(
  tensors: readonly {
    readonly name: string;
    readonly dims: readonly number[];
    readonly values: Float32Array | BigInt64Array;
  }[],
): Uint8Array {
  let at = 0;
  const entries = tensors.map(({ name, dims, values }) => {
    const from = at;
    at += values.byteLength;
    return [
      name,
      { dtype: values instanceof Float32Array ? 'F32' : 'I64', shape: dims, data_offsets: [from, at] },
    ] as const;
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  const header = utf8(text.padEnd(Math.ceil(utf8(text).length / 8) * 8 - utf8(text).length + text.length));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(header.length), true);
  return concatBytes(length, header, ...tensors.map(({ values }) => littleEndian(values)));
}

function littleEndian(values: Float32Array | BigInt64Array): Uint8Array {
  const bytes = new Uint8Array(values.byteLength);
  const view = new DataView(bytes.buffer);
  if (values instanceof Float32Array) values.forEach((value, i) => view.setFloat32(4 * i, value, true));
  else values.forEach((value, i) => view.setBigInt64(8 * i, value, true));
  return bytes;
}
