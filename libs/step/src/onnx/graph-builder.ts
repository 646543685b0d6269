/** Builds ONNX graphs (IR version 8, opset 17) as protobuf bytes. Field numbers: onnx/onnx.proto of ONNX 1.12. */
import { concatBytes } from '#attestation/base';
import { bytesField, floatField, messageField, stringField, varintField } from './protobuf.js';

export type ElementType = 'float32' | 'uint8' | 'int8' | 'int16' | 'int32' | 'int64' | 'bool' | 'float64';

/** TensorProto.DataType of ONNX. */
export const elementCode: Readonly<Record<ElementType, number>> = {
  ...{ float32: 1, uint8: 2, int8: 3, int16: 5, int32: 6, int64: 7, bool: 9, float64: 11 },
};

export interface ValueInfo {
  readonly name: string;
  readonly type: ElementType;
  /** A number, or the name of a size that is free. */
  readonly dims: readonly (number | string)[];
}

type Attribute =
  | { readonly float: number }
  | { readonly int: number }
  | { readonly ints: readonly number[] }
  | { readonly string: string }
  | { readonly graph: Uint8Array };

export class GraphBuilder {
  readonly #nodes: Uint8Array[] = [];
  readonly #initializers: Uint8Array[] = [];
  readonly #scalars = new Map<string, string>();
  #count = 0;

  /** @param prefix keeps the names of a graph and of its subgraphs apart */
  constructor(readonly prefix: string) {}

  /** Appends a node with one output and returns its name. */
  node(
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output = this.#fresh(),
  ): string {
    this.nodes(op, inputs, attributes, [output]);
    return output;
  }

  nodes(
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly string[],
  ): void {
    this.#nodes.push(
      messageField(
        1,
        ...inputs.map((name) => stringField(1, name)),
        ...outputs.map((name) => stringField(2, name)),
        stringField(4, op),
        ...Object.entries(attributes).map(([name, value]) => encodeAttribute(name, value)),
      ),
    );
  }

  /** Float constant of shape []; equal constants are shared. */
  scalar(value: number, type: 'float32' | 'float64' = 'float64'): string {
    const key = `${type} ${Object.is(value, -0) ? 0 : value}`;
    let name = this.#scalars.get(key);
    if (name === undefined) {
      name = type === 'float64' ? this.float64([], Float64Array.of(value)) : this.float32([], Float32Array.of(value));
      this.#scalars.set(key, name);
    }
    return name;
  }

  float64(dims: readonly number[], values: Float64Array): string {
    return this.#initializer('float64', dims, 8, values.length, (view, i) => view.setFloat64(8 * i, values[i]!, true));
  }

  float32(dims: readonly number[], values: Float32Array): string {
    return this.#initializer('float32', dims, 4, values.length, (view, i) => view.setFloat32(4 * i, values[i]!, true));
  }

  /** An int64 vector, as axes, shapes and places are given; equal vectors are shared. */
  axes(...axes: readonly number[]): string {
    const key = `int64 ${axes.join()}`;
    let name = this.#scalars.get(key);
    if (name === undefined) {
      name = this.#initializer('int64', [axes.length], 8, axes.length, (view, i) =>
        view.setBigInt64(8 * i, BigInt(axes[i]!), true),
      );
      this.#scalars.set(key, name);
    }
    return name;
  }

  /** A name that no node of this graph has yet. */
  fresh(): string {
    return this.#fresh();
  }

  /** @returns a GraphProto */
  encode(name: string, inputs: readonly ValueInfo[], outputs: readonly ValueInfo[]): Uint8Array {
    return concatBytes(
      ...this.#nodes,
      stringField(2, name),
      ...this.#initializers,
      ...inputs.map((info) => messageField(11, ...encodeInfo(info))),
      ...outputs.map((info) => messageField(12, ...encodeInfo(info))),
    );
  }

  #fresh(): string {
    return `${this.prefix}${this.#count++}`;
  }

  #initializer(
    type: ElementType,
    dims: readonly number[],
    elementBytes: number,
    count: number,
    write: (view: DataView, index: number) => void,
  ): string {
    const name = this.#fresh();
    const raw = new Uint8Array(elementBytes * count);
    const view = new DataView(raw.buffer);
    for (let i = 0; i < count; i++) write(view, i);
    const sizes = dims.map((size) => varintField(1, size));
    this.#initializers.push(
      messageField(5, ...sizes, varintField(2, elementCode[type]), stringField(8, name), bytesField(9, raw)),
    );
    return name;
  }
}

/** @returns a ModelProto around a GraphProto */
export function encodeModel(graph: Uint8Array): Uint8Array {
  return concatBytes(
    varintField(1, 8),
    stringField(2, 'veritrain'),
    bytesField(7, graph),
    messageField(8, stringField(1, ''), varintField(2, 17)),
  );
}

/** @returns the ModelProto with `metadata_props` behind it: pairs of text that runtimes keep and never compute with */
export function withMetadata(model: Uint8Array, entries: Readonly<Record<string, string>>): Uint8Array {
  const pairs = Object.entries(entries).map(([key, value]) =>
    messageField(14, stringField(1, key), stringField(2, value)),
  );
  return concatBytes(model, ...pairs);
}

function encodeInfo(info: ValueInfo): Uint8Array[] {
  const dims = info.dims.map((size) =>
    messageField(1, typeof size === 'number' ? varintField(1, size) : stringField(2, size)),
  );
  const tensor = messageField(1, varintField(1, elementCode[info.type]), messageField(2, ...dims));
  return [stringField(1, info.name), messageField(2, tensor)];
}

function encodeAttribute(name: string, value: Attribute): Uint8Array {
  if ('float' in value) return messageField(5, stringField(1, name), floatField(2, value.float), varintField(20, 1));
  if ('int' in value) return messageField(5, stringField(1, name), varintField(3, value.int), varintField(20, 2));
  if ('string' in value) {
    return messageField(5, stringField(1, name), stringField(4, value.string), varintField(20, 3));
  }
  if ('graph' in value) return messageField(5, stringField(1, name), bytesField(6, value.graph), varintField(20, 5));
  return messageField(5, stringField(1, name), ...value.ints.map((entry) => varintField(8, entry)), varintField(20, 7));
}
