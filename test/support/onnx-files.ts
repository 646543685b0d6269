/** Files of exporters beside the tests, and ONNX files written by hand, field by field. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { concatBytes, utf8 } from '#attestation/base';
import { fixturePath } from './fixture.js';

const folder = fixturePath('onnx');

/** Names of the files that PyTorch and Keras exported. */
export const exportedFiles: readonly string[] = readdirSync(folder)
  .filter((name) => name.endsWith('.onnx'))
  .toSorted();

export function exportedFile(name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(folder, name)));
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...bytes, Number(rest));
}

const int = (field: number, value: number): Uint8Array => concatBytes(varint(field * 8), varint(value));
const bytes = (field: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const whole = concatBytes(...parts);
  return concatBytes(varint(field * 8 + 2), varint(whole.length), whole);
};
const text = (field: number, value: string): Uint8Array => bytes(field, utf8(value));
const float = (field: number, value: number): Uint8Array =>
  concatBytes(varint(field * 8 + 5), new Uint8Array(Float32Array.of(value).buffer));

type Attribute = number | string | readonly number[] | { readonly float: number; readonly doc?: string };

/** Whole numbers are ints, others floats; `1.0` is written as { float: 1 }. */
function attributeOf(name: string, value: Attribute): Uint8Array {
  if (typeof value === 'string') return bytes(5, text(1, name), text(4, value), int(20, 3));
  if (typeof value === 'number') return bytes(5, text(1, name), int(3, value), int(20, 2));
  if ('float' in value) {
    const doc = value.doc === undefined ? [] : [text(13, value.doc)];
    return bytes(5, text(1, name), float(2, value.float), ...doc, int(20, 1));
  }
  return bytes(5, text(1, name), ...value.map((entry) => int(8, entry)), int(20, 7));
}

export class OnnxFile {
  readonly #nodes: Uint8Array[] = [];
  readonly #initializers: Uint8Array[] = [];
  #count = 0;

  /** @param others names of outputs beyond the first */
  node(
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    others: readonly string[] = [],
  ): string {
    const output = `t${this.#count++}`;
    const written = Object.entries(attributes).map(([name, value]) => attributeOf(name, value));
    const names = inputs.map((name) => text(1, name));
    const outputs = [output, ...others].map((name) => text(2, name));
    this.#nodes.push(bytes(1, ...names, ...outputs, text(3, `node ${output}`), text(4, op), ...written));
    return output;
  }

  /** An initializer with the fields of TensorProto that are handed in, its dims and name aside. */
  tensor(dims: readonly number[], ...fields: readonly Uint8Array[]): string {
    const name = `t${this.#count++}`;
    this.#initializers.push(bytes(5, ...dims.map((size) => int(1, size)), ...fields, text(8, name)));
    return name;
  }

  float32(dims: readonly number[], values: Float32Array): string {
    return this.tensor(dims, int(2, 1), bytes(9, new Uint8Array(values.buffer)));
  }

  number(value: number): string {
    return this.float32([], Float32Array.of(value));
  }

  int64(...values: readonly number[]): string {
    return this.tensor([values.length], int(2, 7), bytes(9, new Uint8Array(BigInt64Array.from(values, BigInt).buffer)));
  }

  encode(dims: readonly (number | string)[], output: string, opset: number, inputType = 1): Uint8Array {
    const size = (one: number | string): Uint8Array => bytes(1, typeof one === 'number' ? int(1, one) : text(2, one));
    const type = (code: number, ...shape: readonly Uint8Array[]): Uint8Array =>
      bytes(2, bytes(1, int(1, code), ...shape));
    const input = bytes(11, text(1, 'x'), type(inputType, bytes(2, ...dims.map(size))));
    const graph = bytes(
      7,
      ...this.#nodes,
      text(2, 'hand_made'),
      ...this.#initializers,
      input,
      bytes(12, text(1, output), type(1)),
    );
    return concatBytes(int(1, 8), text(2, 'tests'), graph, bytes(8, text(1, ''), int(2, opset)));
  }
}

/**
 * A model with the input `x` of `dims` around the nodes that `build` writes; its output is what `build` returns.
 *
 * @param inputType TensorProto.DataType
 */
export function handMade(
  dims: readonly (number | string)[],
  build: (file: OnnxFile, x: string) => string,
  opset = 20,
  inputType = 1,
): Uint8Array {
  const file = new OnnxFile();
  return file.encode(dims, build(file, 'x'), opset, inputType);
}

/** Fields of TensorProto, to write one in another way than exporters do. */
export const tensorFields = {
  type: (code: number): Uint8Array => int(2, code),
  raw: (values: ArrayBufferLike): Uint8Array => bytes(9, new Uint8Array(values)),
  floats: (values: Float32Array): Uint8Array => bytes(4, new Uint8Array(values.buffer)),
  doubles: (values: Float64Array): Uint8Array => bytes(10, new Uint8Array(values.buffer)),
  int32s: (values: readonly number[]): Uint8Array => bytes(5, ...values.map(varint)),
  /** `location` is a key of the entries of external_data; 1 is TensorProto.EXTERNAL. */
  elsewhere: (path: string): Uint8Array => concatBytes(bytes(13, text(1, 'location'), text(2, path)), int(14, 1)),
};
