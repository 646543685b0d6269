/**
 * Decodes the messages of an ONNX file that an import needs: ModelProto, GraphProto, NodeProto, AttributeProto,
 * TensorProto, ValueInfoProto (field numbers: onnx/onnx.proto of ONNX 1.17). Tensors in other files are refused, so no
 * path of a file is ever opened.
 */
import { refuse } from '../errors.js';
import { axesMax, elementsMax, membersMax, nodesMax, onnxBytesMax } from '../limits.js';
import { ElementBudget, type Constant } from './constant.js';
import { readTensor } from './tensor.js';
import { FieldCount, nameOf, packedVarints, wireFields } from './wire.js';

interface Attribute {
  readonly float?: number;
  readonly int?: number;
  readonly text?: string;
  readonly tensor?: Constant;
  readonly floats: readonly number[];
  readonly ints: readonly number[];
  /** A subgraph or another kind that no layer has. */
  readonly isOther: boolean;
}

export interface OnnxNode {
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  /** Empty names are left-out inputs. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, Attribute>;
}

export interface OnnxValue {
  readonly name: string;
  /** TensorProto.DataType. */
  readonly type: number;
  /** A size, the name of a free one, or '' for one without a name; undefined without a shape. */
  readonly dims: readonly (number | string)[] | undefined;
}

export interface OnnxModel {
  readonly producer: string;
  readonly opset: number;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, Constant>;
  /** Without those that have an initializer. */
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

interface Bounds {
  readonly fields: FieldCount;
  readonly elements: ElementBudget;
}

const [opsetMin, opsetMax] = [13, 23];
/** Field of AttributeProto that says nothing to a runtime. */
const docString = 13;

/** @throws Rejection ONNX_MALFORMED, ONNX_LIMIT, ONNX_OPSET, ONNX_EXTERNAL_DATA, ONNX_TYPE, ONNX_SHAPE */
export function decodeModel(bytes: Uint8Array): OnnxModel {
  if (bytes.length > onnxBytesMax) refuse('ONNX_LIMIT', `a file of at most ${onnxBytesMax} bytes`, bytes.length);
  const bounds: Bounds = { fields: new FieldCount(), elements: new ElementBudget() };
  let producer = '';
  let graph: Uint8Array | undefined;
  const opsets = new Map<string, number>();
  for (const field of wireFields(bytes, bounds.fields)) {
    if (field.number === 2) producer = nameOf(field.bytes);
    if (field.number === 7) graph = field.bytes;
    if (field.number === 8) {
      const { domain, version } = readOpset(field.bytes, bounds);
      opsets.set(domain, version);
    }
    if (field.number === 25) {
      refuse('ONNX_FUNCTIONS', 'a graph without functions of its own', 'functions', 'export with functions inlined');
    }
  }
  if (graph === undefined) refuse('ONNX_MALFORMED', 'a model with a graph', 'none');
  const opset = opsets.get('') ?? opsets.get('ai.onnx') ?? 0;
  if (opset < opsetMin || opset > opsetMax) {
    refuse('ONNX_OPSET', `opset ${opsetMin} to ${opsetMax}`, opset, 'export with another opset_version');
  }
  return { producer, opset, ...readGraph(graph, bounds) };
}

function readOpset(bytes: Uint8Array, { fields }: Bounds): { readonly domain: string; readonly version: number } {
  let [domain, version] = ['', 0];
  for (const field of wireFields(bytes, fields)) {
    if (field.number === 1) domain = nameOf(field.bytes);
    if (field.number === 2) version = field.value;
  }
  return { domain, version };
}

function readGraph(
  bytes: Uint8Array,
  bounds: Bounds,
): Pick<OnnxModel, 'nodes' | 'initializers' | 'inputs' | 'outputs'> {
  const nodes: OnnxNode[] = [];
  const initializers = new Map<string, Constant>();
  const inputs: OnnxValue[] = [];
  const outputs: OnnxValue[] = [];
  for (const field of wireFields(bytes, bounds.fields)) {
    if (field.number === 1) nodes.push(readNode(field.bytes, bounds, nodes.length));
    if (field.number === 5) {
      const { name, constant } = readTensor(field.bytes, bounds.fields, bounds.elements);
      initializers.set(name, constant);
    }
    if (field.number === 11) inputs.push(readValue(field.bytes, bounds));
    if (field.number === 12) outputs.push(readValue(field.bytes, bounds));
    if (field.number === 15) refuse('ONNX_TYPE', 'whole initializers', 'a sparse one');
    if (Math.max(nodes.length, initializers.size, inputs.length, outputs.length) > nodesMax) {
      refuse('ONNX_LIMIT', `at most ${nodesMax} nodes, initializers, inputs and outputs each`, 'more');
    }
  }
  return { nodes, initializers, inputs: inputs.filter(({ name }) => !initializers.has(name)), outputs };
}

function readNode(bytes: Uint8Array, bounds: Bounds, index: number): OnnxNode {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes = new Map<string, Attribute>();
  let [name, op, domain] = ['', '', ''];
  for (const field of wireFields(bytes, bounds.fields)) {
    if (field.number === 1) inputs.push(nameOf(field.bytes));
    if (field.number === 2) outputs.push(nameOf(field.bytes));
    if (field.number === 3) name = nameOf(field.bytes);
    if (field.number === 4) op = nameOf(field.bytes);
    if (field.number === 7) domain = nameOf(field.bytes);
    if (field.number === 5) {
      const [key, attribute] = readAttribute(field.bytes, bounds);
      attributes.set(key, attribute);
    }
    if (Math.max(inputs.length, outputs.length, attributes.size) > membersMax) {
      refuse('ONNX_LIMIT', `at most ${membersMax} inputs, outputs and attributes of a node`, 'more');
    }
  }
  return { name: name === '' ? (outputs[0] ?? `node ${index}`) : name, op, domain, inputs, outputs, attributes };
}

function readAttribute(bytes: Uint8Array, bounds: Bounds): readonly [string, Attribute] {
  const floats: number[] = [];
  const ints: number[] = [];
  const found: { float?: number; int?: number; text?: string; tensor?: Constant } = {};
  let [name, isOther, type] = ['', false, 0];
  for (const { number, value, bytes: part } of wireFields(bytes, bounds.fields)) {
    if (number === 1) name = nameOf(part);
    else if (number === 2) found.float = value;
    else if (number === 3) found.int = value;
    else if (number === 4) found.text = nameOf(part);
    else if (number === 5) found.tensor = readTensor(part, bounds.fields, bounds.elements).constant;
    else if (number === 7) for (const one of packedFloats(part, value)) floats.push(one);
    else if (number === 8)
      for (const one of part.length > 0 ? packedVarints(part, bounds.fields) : [value]) ints.push(one);
    else if (number === 20) type = value;
    else if ((number >= 6 && number <= 15 && number !== docString) || number > 20) isOther = true;
    if (floats.length + ints.length > elementsMax) refuse('ONNX_LIMIT', `at most ${elementsMax} numbers`, 'more');
  }
  const attribute = { ...found, floats, ints, isOther };
  checkKind(name, type, attribute);
  return [name, { ...absentOf(type), ...attribute }];
}

/** Runtimes read the member that the type names: with another one there, they would read something else than an import. */
function checkKind(name: string, type: number, { float, int, text, tensor, floats, ints }: Attribute): void {
  if (type === 0) return;
  const members = [float, int, text, tensor, undefined, floats[0], ints[0]];
  const other = members.findIndex((member, at) => member !== undefined && at + 1 !== type);
  if (other >= 0) {
    refuse('ONNX_MALFORMED', `attribute "${name}" with a value of its type ${type}`, `a value of type ${other + 1}`);
  }
}

/** Some writers leave a zero or an empty text out; the type says that it is one. */
function absentOf(type: number): Pick<Attribute, 'float' | 'int' | 'text'> {
  if (type === 1) return { float: 0 };
  if (type === 2) return { int: 0 };
  return type === 3 ? { text: '' } : {};
}

/** A repeated float: four bytes of one, or many after each other. */
function packedFloats(bytes: Uint8Array, value: number): number[] {
  if (bytes.length === 4)
    return [value === 0 ? new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true) : value];
  if (bytes.length % 4 !== 0) refuse('ONNX_MALFORMED', 'floats of four bytes', `${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

function readValue(bytes: Uint8Array, bounds: Bounds): OnnxValue {
  let name = '';
  let tensor: { type: number; dims: (number | string)[] | undefined } = { type: 0, dims: undefined };
  for (const field of wireFields(bytes, bounds.fields)) {
    if (field.number === 1) name = nameOf(field.bytes);
    if (field.number === 2) tensor = readType(field.bytes, bounds);
  }
  return { name, ...tensor };
}

function readType(bytes: Uint8Array, bounds: Bounds): { type: number; dims: (number | string)[] | undefined } {
  let type = 0;
  let dims: (number | string)[] | undefined;
  for (const kind of wireFields(bytes, bounds.fields)) {
    if (kind.number !== 1) continue;
    for (const field of wireFields(kind.bytes, bounds.fields)) {
      if (field.number === 1) type = field.value;
      if (field.number === 2) dims = readShape(field.bytes, bounds);
    }
  }
  return { type, dims };
}

function readShape(bytes: Uint8Array, bounds: Bounds): (number | string)[] {
  const dims: (number | string)[] = [];
  for (const field of wireFields(bytes, bounds.fields)) {
    if (field.number !== 1) continue;
    let size: number | string = '';
    for (const part of wireFields(field.bytes, bounds.fields)) {
      if (part.number === 1) size = part.value;
      if (part.number === 2) size = nameOf(part.bytes);
    }
    dims.push(size);
    if (dims.length > axesMax) refuse('ONNX_LIMIT', `at most ${axesMax} axes`, 'more');
  }
  return dims;
}
