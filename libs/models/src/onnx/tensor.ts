/** TensorProto: float32, float16, bfloat16, double and the integers, in raw_data or in the typed fields. */
import { refuse } from '../errors.js';
import { axesMax, elementsMax } from '../limits.js';
import { sizeOf, type Constant, type ElementBudget, type Kind } from './constant.js';
import { nameOf, packedVarints, wireFields, type FieldCount } from './wire.js';

interface ElementType {
  readonly kind: Kind;
  readonly bytes: number;
  read(view: DataView, at: number): number;
  /** Typed field that holds it, and how one number of it is read. */
  readonly field: 4 | 5 | 7 | 10 | 11;
  fromField?(value: number): number;
}

/** IEEE 754 binary16 as a number. */
export function fromFloat16(bits: number): number {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

/** bfloat16 as a number: the upper half of a float32. */
export function fromBfloat16(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, bits * 65_536);
  return view.getFloat32(0);
}

/** By TensorProto.DataType. */
const elementTypes: Readonly<Record<number, ElementType>> = {
  1: { kind: 'float', bytes: 4, read: (view, at) => view.getFloat32(at, true), field: 4 },
  2: { kind: 'int', bytes: 1, read: (view, at) => view.getUint8(at), field: 5 },
  3: { kind: 'int', bytes: 1, read: (view, at) => view.getInt8(at), field: 5 },
  5: { kind: 'int', bytes: 2, read: (view, at) => view.getInt16(at, true), field: 5 },
  6: { kind: 'int', bytes: 4, read: (view, at) => view.getInt32(at, true), field: 5 },
  7: { kind: 'int', bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)), field: 7 },
  9: {
    kind: 'bool',
    bytes: 1,
    read: (view, at) => Number(view.getUint8(at) !== 0),
    field: 5,
    fromField: (value) => Number(value !== 0),
  },
  10: {
    kind: 'float',
    bytes: 2,
    read: (view, at) => fromFloat16(view.getUint16(at, true)),
    field: 5,
    fromField: (value) => fromFloat16(value & 0xffff),
  },
  11: { kind: 'float', bytes: 8, read: (view, at) => view.getFloat64(at, true), field: 10 },
  16: {
    kind: 'float',
    bytes: 2,
    read: (view, at) => fromBfloat16(view.getUint16(at, true)),
    field: 5,
    fromField: (value) => fromBfloat16(value & 0xffff),
  },
};

interface Parts {
  readonly dims: number[];
  readonly typed: number[];
  type: number;
  name: string;
  raw?: Uint8Array;
}

/** @throws Rejection ONNX_EXTERNAL_DATA, ONNX_TYPE, ONNX_SHAPE, ONNX_LIMIT, ONNX_MALFORMED */
export function readTensor(
  bytes: Uint8Array,
  fields: FieldCount,
  elements: ElementBudget,
): { readonly name: string; readonly constant: Constant } {
  const parts = partsOf(bytes, fields);
  const { name, dims, type, raw, typed } = parts;
  const what = `tensor "${name}"`;
  const element = elementTypes[type];
  if (element === undefined)
    refuse('ONNX_TYPE', `${what} as float32, float16, bfloat16, double or an integer`, `type ${type}`);
  if (dims.some((size) => size < 0) || dims.length > axesMax)
    refuse('ONNX_SHAPE', `${what} of at most ${axesMax} sizes from 0`, dims.join());
  const size = sizeOf(dims);
  if (size > elementsMax) refuse('ONNX_LIMIT', `${what} of at most ${elementsMax} elements`, size);
  elements.take(size);
  const values = new Float64Array(size);
  if (raw !== undefined && (raw.length > 0 || typed.length === 0)) {
    if (raw.length !== size * element.bytes)
      refuse('ONNX_SHAPE', `${size * element.bytes} bytes in ${what}`, raw.length);
    const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
    for (let i = 0; i < size; i++) values[i] = element.read(view, element.bytes * i);
  } else {
    if (typed.length !== size) refuse('ONNX_SHAPE', `${size} values in ${what}`, typed.length);
    const { fromField = (value: number) => value } = element;
    for (let i = 0; i < size; i++) values[i] = fromField(typed[i]!);
  }
  return { name, constant: { kind: element.kind, dims, values } };
}

function partsOf(bytes: Uint8Array, fields: FieldCount): Parts {
  const parts: Parts = { dims: [], typed: [], type: 0, name: '' };
  for (const field of wireFields(bytes, fields)) {
    const { number, value, bytes: part } = field;
    if (number === 1) {
      for (const size of part.length > 0 ? packedVarints(part, fields) : [value]) parts.dims.push(size);
    } else if (number === 2) parts.type = value;
    else if (number === 8) parts.name = nameOf(part);
    else if (number === 9) parts.raw = part;
    else if (number === 4 || number === 10) appendReals(parts.typed, part, number === 4 ? 4 : 8, fields);
    else if (number === 5 || number === 7 || number === 11) {
      for (const one of part.length > 0 ? packedVarints(part, fields) : [value]) parts.typed.push(one);
    } else if (number === 13 || (number === 14 && value === 1)) {
      refuse('ONNX_EXTERNAL_DATA', 'tensors within the file', 'a tensor in another file', 'save the model as one file');
    } else if (number === 3) refuse('ONNX_TYPE', 'whole tensors', 'a segment');
    if (parts.dims.length > axesMax) refuse('ONNX_LIMIT', `at most ${axesMax} axes`, 'more');
  }
  return parts;
}

function appendReals(into: number[], bytes: Uint8Array, size: 4 | 8, fields: FieldCount): void {
  if (bytes.length % size !== 0) refuse('ONNX_MALFORMED', `numbers of ${size} bytes`, `${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  fields.take(bytes.length / size);
  for (let at = 0; at < bytes.length; at += size)
    into.push(size === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true));
}
