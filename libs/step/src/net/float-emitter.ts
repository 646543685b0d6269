/** Writes a trained net as an ordinary float32 graph (libs/step/SPEC.md §27). */
import { elementCode, type GraphBuilder } from '../onnx/graph-builder.js';
import type { NetLayer, ParameterRole } from './edge.js';
import { sizeOf } from '../tensors.js';

export class FloatEmitter {
  /**
   * @param graph  that is written to, float32
   * @param values real values of a parameter by name
   */
  constructor(
    readonly graph: GraphBuilder,
    private readonly values: (name: string) => Float32Array,
  ) {}

  node(op: string, inputs: readonly string[], attributes: Parameters<GraphBuilder['node']>[2] = {}): string {
    return this.graph.node(op, inputs, attributes);
  }

  scalar(value: number): string {
    return this.graph.scalar(value, 'float32');
  }

  /** Real values of a layer's parameter, float32 with the parameter's dims. */
  parameter(layer: NetLayer, role: ParameterRole): string {
    const { name, dims } = layer.parameters[role]!;
    return this.graph.float32(dims, this.values(name));
  }

  /** The same, its elements in another order or shape. */
  rearranged(layer: NetLayer, role: ParameterRole, dims: readonly number[], from: (index: number) => number): string {
    const values = this.values(layer.parameters[role]!.name);
    return this.graph.float32(
      dims,
      Float32Array.from({ length: sizeOf(dims) }, (_, index) => values[from(index)]!),
    );
  }

  reshape(x: string, dims: readonly number[]): string {
    return this.node('Reshape', [x, this.graph.axes(...dims)]);
  }

  transpose(x: string, perm: readonly number[]): string {
    return this.node('Transpose', [x], { perm: { ints: perm } });
  }

  /** A node that reads and writes [batch, channels, height, width], between maps with the channels last. */
  overChannelsFirst(
    x: string,
    op: string,
    others: readonly string[],
    attributes: Parameters<GraphBuilder['node']>[2],
  ): string {
    const y = this.node(op, [this.transpose(x, [0, 3, 1, 2]), ...others], attributes);
    return this.transpose(y, [0, 2, 3, 1]);
  }

  toFloat(x: string): string {
    return this.node('Cast', [x], { to: { int: elementCode.float32 } });
  }
}
