/** Attributes of a node by type, with ONNX's defaults handed in. */
import { cannot } from '../errors.js';
import type { Constant } from './constant.js';
import { axisOf } from './constant.js';
import type { OnnxNode } from './decode.js';

export function intOf(node: OnnxNode, name: string, absent: number): number {
  return node.attributes.get(name)?.int ?? absent;
}

export function floatOf(node: OnnxNode, name: string, absent: number): number {
  return node.attributes.get(name)?.float ?? absent;
}

export function textOf(node: OnnxNode, name: string, absent: string): string {
  return node.attributes.get(name)?.text ?? absent;
}

export function intsOf(node: OnnxNode, name: string): readonly number[] | undefined {
  return node.attributes.get(name)?.ints;
}

export function numbersOf(value: Constant): readonly number[] {
  if (value.values.length > 1_024) cannot(`a list of ${value.values.length} numbers`, 'a short list');
  return Array.from(value.values);
}

/** Axes as an attribute (to opset 12 or 17) or an input (since), each from 0; undefined for none. */
export function axesOf(node: OnnxNode, input: Constant | undefined, rank: number): readonly number[] | undefined {
  const axes = input === undefined ? intsOf(node, 'axes') : numbersOf(input);
  return axes?.map((axis) => axisOf(axis, rank));
}
