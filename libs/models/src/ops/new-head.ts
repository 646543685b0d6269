/** A new last layer for a model that was brought, so that it answers with other classes than it knew. */
import { refuse } from '../errors.js';

interface Layer {
  readonly op: string;
  readonly id?: string;
  readonly [member: string]: unknown;
}

interface Model {
  readonly layers: readonly Layer[];
  readonly parameters: readonly { readonly layer: string }[];
}

export interface NewHead {
  /** Id of the layer. */
  readonly layer: string;
  readonly outputs: number;
  readonly before: number;
}

/** Id of the last layer, as it is where the layer names none. */
export function headOf({ layers }: Pick<Model, 'layers'>): string {
  return layers.at(-1)?.id ?? `n${layers.length - 1}`;
}

/** Outputs of the last layer; undefined where it is none that a new one can replace. */
export function headOutputs({ layers }: Pick<Model, 'layers'>): number | undefined {
  const last = layers.at(-1);
  return last?.op === 'dense' && typeof last['out'] === 'number' ? last['out'] : undefined;
}

/**
 * Of the last layer its size alone is another; its weights are not given, so they are drawn as those of a new one.
 *
 * @throws Rejection MODEL_HEAD where the last layer is not dense
 */
export function withNewHead<M extends Model>(model: M, outputs: number): M & { readonly head: NewHead } {
  const { layers, parameters } = model;
  const [layer, before] = [headOf(model), headOutputs(model)];
  if (before === undefined) {
    const action = 'bring a model that ends with its linear layer';
    return refuse('MODEL_HEAD', 'a dense layer at the end', layers.at(-1)?.op, action);
  }
  return {
    ...model,
    layers: [...layers.slice(0, -1), { ...layers.at(-1)!, out: outputs }],
    parameters: parameters.filter((one) => one.layer !== layer),
    head: { layer, outputs, before },
  };
}
