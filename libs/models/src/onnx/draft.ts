/** The net as it is found: edges that hang on each other, and what is to become a layer of fxt/2 on each of them. */
import { cannot } from '../errors.js';
import { recordElementsMax } from '../limits.js';
import { sizeOf } from './constant.js';
import { isAxis, isWhole, movedView, recordAxes, type View } from './view.js';

interface Values {
  readonly dims: readonly number[];
  readonly values: Float64Array;
}

export type Members = Readonly<Record<string, number | boolean | readonly number[]>>;

export interface LayerDraft {
  readonly op: string;
  readonly members: Members;
  readonly W?: Values;
  readonly b?: Values;
  /** The layer with its output times `scale` plus `shift`, each by channel; undefined when it cannot be had. */
  scaled?(scale: Float64Array, shift: Float64Array): LayerDraft | undefined;
  /** The layer with these of its output channels alone. */
  restricted?(channels: readonly number[]): LayerDraft;
}

/** What a product of queries and keys is, until what is made of it is found. */
interface Scores {
  readonly q: Edge;
  readonly k: Edge;
  readonly heads: number;
  readonly scale: number;
  readonly isCausal: boolean;
  readonly isNormalised: boolean;
}

export interface Edge {
  /** Counts edges as they are found. */
  readonly index: number;
  readonly shape: readonly number[];
  readonly inputs: readonly Edge[];
  /** Undefined on the input and on scores. */
  readonly layer?: LayerDraft;
  readonly scores?: Scores;
  readonly isTokens: boolean;
}

/** `scale·x + shift`, by element of the record: not yet part of a layer. */
export interface Affine {
  readonly scale: Float64Array;
  readonly shift: Float64Array;
}

/** A tensor of the file as a view of an edge. */
export interface Value {
  readonly edge: Edge;
  readonly view: View;
  readonly affine?: Affine;
}

export const channelsOf = ({ shape }: Edge): number => shape.at(-1) ?? 1;

/** Whether the channels are this axis of the tensor, and its last. */
export const isLastAxis = ({ edge, view }: Value, axis: number): boolean =>
  axis === view.dims.length - 1 && isAxis(view.dims[axis], channelsOf(edge), 1);

export class NetDraft {
  #count = 0;
  readonly #parts = new Map<string, Edge>();
  readonly #settled = new WeakMap<Affine, Value>();

  input(shape: readonly number[], isTokens: boolean): Edge {
    return this.#edge({ shape, inputs: [], isTokens });
  }

  layer(layer: LayerDraft, shape: readonly number[], ...inputs: readonly Edge[]): Edge {
    return this.#edge({ shape, inputs, layer, isTokens: false });
  }

  scores(scores: Scores, shape: readonly number[]): Edge {
    return this.#edge({ shape, inputs: [scores.q, scores.k], scores, isTokens: false });
  }

  /** The edge as one axis. */
  flat(edge: Edge): Edge {
    if (edge.shape.length <= 1) return edge;
    return this.#once(`flat ${edge.index}`, () =>
      this.layer({ op: 'flatten', members: {} }, [sizeOf(edge.shape)], edge),
    );
  }

  /** @throws NodeRefusal when the view is a part of its edge, and no layer makes that part alone */
  whole(given: Value): Value {
    const { edge, view } = isWhole(given.view, given.edge.shape) ? given : this.settled(given);
    if (isWhole(view, edge.shape)) return given;
    const width = channelsOf(edge);
    const within = recordAxes(view)
      .filter(({ stride }) => stride < width)
      .toSorted((a, b) => b.stride - a.stride);
    const rows = recordAxes(view).filter(({ stride }) => stride >= width);
    const isPart =
      view.offset < width && rows.reduce((product, { size }) => product * size, width) === sizeOf(edge.shape);
    if (!isPart || edge.layer?.restricted === undefined)
      return cannot('a part of a tensor', 'the whole, or parts of the channels of a linear layer');
    let channels = [view.offset];
    for (const { size, stride } of within)
      channels = channels.flatMap((first) => Array.from({ length: size }, (_, i) => first + i * stride));
    if (channels.some((channel) => channel >= width)) cannot('a part across rows', 'parts of the channels');
    const restricted = edge.layer.restricted(channels);
    const part = this.#once(`${edge.index} ${channels.join()}`, () =>
      this.layer(restricted, [...edge.shape.slice(0, -1), channels.length], ...edge.inputs),
    );
    const inner = (stride: number): number =>
      within.filter((axis) => axis.stride < stride).reduce((product, { size }) => product * size, 1);
    const moved = movedView(view, ({ size, stride }) => ({
      size,
      stride: stride >= width ? (stride / width) * channels.length : inner(stride),
    }));
    return { edge: part, view: moved };
  }

  /** The value with what it is scaled and shifted by made part of the layer before it, or a layer of its own. */
  settled(value: Value): Value {
    const { affine } = value;
    if (affine === undefined) return value;
    const known = this.#settled.get(affine);
    const edge = known?.edge ?? this.#settle(value.edge, affine);
    const settled = { edge, view: value.view };
    if (known === undefined) this.#settled.set(affine, settled);
    return settled;
  }

  /** As `settled`, and undefined where there is no such layer. */
  settledBack(value: Value): Value | undefined {
    return value.affine === undefined || value.edge.layer?.scaled !== undefined ? this.settled(value) : undefined;
  }

  #settle(edge: Edge, { scale, shift }: Affine): Edge {
    const width = channelsOf(edge);
    const [byChannel, shiftByChannel] = [channelValues(scale, width), channelValues(shift, width)];
    if (byChannel !== undefined && edge.layer?.scaled !== undefined) {
      const layer = edge.layer.scaled(byChannel, shiftByChannel ?? new Float64Array(width));
      const scaled = layer && this.layer(layer, edge.shape, ...edge.inputs);
      if (scaled !== undefined) return shiftByChannel === undefined ? this.#shifted(scaled, shift) : scaled;
    }
    if (scale.some((value) => value !== 1)) {
      return cannot(
        'a product with constants behind no layer that could take it',
        'a convolution, linear layer or norm before it',
      );
    }
    return shift.some((value) => value !== 0) ? this.#shifted(edge, shift) : edge;
  }

  #shifted(edge: Edge, shift: Float64Array): Edge {
    if (edge.shape.length !== 2 || edge.isTokens) {
      return cannot('a sum with constants behind no layer that could take it', 'a bias of the layer before it');
    }
    return this.layer({ op: 'position', members: {}, W: { dims: edge.shape, values: shift } }, edge.shape, edge);
  }

  #once(key: string, make: () => Edge): Edge {
    const known = this.#parts.get(key) ?? make();
    this.#parts.set(key, known);
    return known;
  }

  #edge(rest: Omit<Edge, 'index'>): Edge {
    if (sizeOf(rest.shape) > recordElementsMax || rest.shape.some((size) => size < 1)) {
      cannot(`a record [${rest.shape.join()}]`, `records of 1 to ${recordElementsMax} elements`);
    }
    return { index: this.#count++, ...rest };
  }
}

/** One value a channel, when all rows have the same. */
export function channelValues(values: Float64Array, width: number): Float64Array | undefined {
  const first = values.slice(0, width);
  return values.every((value, i) => value === first[i % width]) ? first : undefined;
}
