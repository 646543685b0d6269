/** A graph in float32 with names for the usual nodes. */
import type { GraphBuilder } from '#libs/step';

type Attributes = Parameters<GraphBuilder['node']>[2];

export class FloatGraph {
  constructor(readonly graph: GraphBuilder) {}

  node(op: string, inputs: readonly string[], attributes: Attributes = {}): string {
    return this.graph.node(op, inputs, attributes);
  }

  scalar(value: number): string {
    return this.graph.scalar(value, 'float32');
  }

  mul(x: string, y: string): string {
    return this.node('Mul', [x, y]);
  }

  add(x: string, y: string): string {
    return this.node('Add', [x, y]);
  }

  sub(x: string, y: string): string {
    return this.node('Sub', [x, y]);
  }

  /** Whole numbers of a fraction as the real numbers that they stand for. */
  scaled(x: string, fraction: number): string {
    return this.mul(this.node('Cast', [x], { to: { int: 1 } }), this.scalar(2 ** -fraction));
  }

  sum(x: string, axis: number, keep: 0 | 1): string {
    return this.node('ReduceSum', [x, this.graph.axes(axis)], { keepdims: { int: keep } });
  }

  /** Of [rows, n]: a product with ones, which takes half the time of a sum over the first axis. */
  columnSums(x: string, rows: number): string {
    return this.node('MatMul', [this.graph.float32([rows], new Float32Array(rows).fill(1)), x]);
  }

  reshape(x: string, dims: readonly number[]): string {
    return this.node('Reshape', [x, this.graph.axes(...dims)]);
  }

  rows(x: string, width: number): string {
    return this.reshape(x, [-1, width]);
  }

  transpose(x: string, perm: readonly number[]): string {
    return this.node('Transpose', [x], { perm: { ints: perm } });
  }

  slice(x: string, axis: number, from: number, to: number, step = 1): string {
    const { graph } = this;
    return this.node('Slice', [x, graph.axes(from), graph.axes(to), graph.axes(axis), graph.axes(step)]);
  }

  concat(parts: readonly string[], axis: number): string {
    return parts.length === 1 ? parts[0]! : this.node('Concat', parts, { axis: { int: axis } });
  }
}
