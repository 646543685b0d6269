/** A manifest around a model that was brought, and the integers that it starts from (libs/step/SPEC.md §25). */
import { Rejection, to0x } from '#attestation/base';
import {
  checkHeaderFits,
  drawnParameters,
  parameterShapes,
  sizeOf,
  startRoot,
  type DataHeader,
  type NetManifest,
  type Tensor,
  type Weights,
} from '#libs/step';
import { refuse } from '../errors.js';
import { takesAdapter } from '../ops/merge-lora.js';
import { headOutputs, type NewHead } from '../ops/new-head.js';
import type { RealParameter } from '../onnx/import.js';
import { objectiveOf } from '../losses/objective.js';
import { quantise } from '../quantise.js';
import { planModel, type Plan, type PlanRequest } from './plan.js';

interface BroughtModel {
  readonly layers: readonly Layer[];
  /** Of every layer that has some, in order; `exact` ones are taken as they are where the fraction is the same. */
  readonly parameters: readonly (RealParameter & { readonly exact?: Exact })[];
  /** A last layer that is new: no weights are given for it. */
  readonly head?: NewHead;
  readonly remedies?: Remedies;
}

/** What whoever brings the model can do about weights of its first or last layer that are too large. */
export interface Remedies {
  readonly first?: string;
  readonly last?: string;
}

interface Layer {
  readonly op: string;
  readonly id?: string;
  readonly [member: string]: unknown;
}

interface Exact {
  readonly fraction: number;
  readonly values: BigInt64Array;
}

/** What of the model is trained; all of it where nothing is said. */
export interface Adapting {
  /** Layers that stay as they are; `but-last`: all but the last that has weights. */
  readonly frozen?: readonly string[] | 'but-last';
  /** Rank of adapters on every linear layer; all else stays as it is. */
  readonly lora?: number;
}

interface BroughtPlan extends Plan {
  /** All parameters in layer order: what `start.root` of the manifest names. */
  readonly start: Weights;
}

const triesMax = 8;
const noRoot = `0x${'0'.repeat(64)}`;
/** Integer bits where no weight asks for more, and the factor by which one may grow. */
const [wint, room] = [3, 2];

/**
 * Fractions of weights depend on the manifest, and its root on them: both are settled in turns.
 *
 * @throws Rejection MODEL_LAYER, MODEL_WEIGHT_NUMBER, MODEL_WEIGHT_RANGE, HEADER_FIT, OP_LORA and those of `planModel`
 */
export function planBrought(
  request: Omit<PlanRequest, 'brought'>,
  model: BroughtModel,
  adapting: Adapting = {},
): BroughtPlan {
  const adapted = adaptedLayers(model, adapting);
  let [root, raised] = [noRoot, new Map<string, number>()];
  for (let tries = 0; tries < triesMax; tries++) {
    const layers = adapted.layers.map((layer) => ({
      ...layer,
      ...(raised.has(layer.id) && { wint: Math.max(Number(layer.wint ?? wint), raised.get(layer.id)!) }),
    }));
    const plan = planModel({ ...request, brought: { ...adapted, layers, wint, root } });
    checkFits(plan.manifest, request.header, headOutputs(model));
    const made = startOf(plan.manifest, model);
    const settled = [...made.wint].every(([layer, bits]) => (raised.get(layer) ?? wint) >= bits);
    if (!settled) {
      raised = new Map([...raised, ...made.wint]);
      continue;
    }
    const next = to0x(startRoot(plan.manifest, made.start));
    if (next === root) return { ...plan, why: [...plan.why, ...headInWords(model)], start: made.start };
    root = next;
  }
  return refuse('MODEL_WEIGHT_RANGE', 'settings under which the weights keep their fractions', 'none', 'choose adamw');
}

/** @throws Rejection HEADER_FIT, which says how to get another last layer where its size is what does not fit */
function checkFits(m: NetManifest, header: DataHeader, given: number | undefined): void {
  try {
    checkHeaderFits(m, header);
  } catch (error) {
    const { outputs } = objectiveOf(header);
    const isOfHead = error instanceof Rejection && given !== undefined && given !== outputs;
    if (!isOfHead) throw error;
    const isBinary = header.label.kind === 'class' && outputs === 2 && given === 1;
    const flag = 'say --task multilabel, which reads two classes as one yes or no; or ';
    const action = `${isBinary ? flag : ''}--classes ${outputs} gives the model a new last layer`;
    throw new Rejection(error.code, { ...error.detail, action });
  }
}

function headInWords({ head }: BroughtModel): readonly string[] {
  if (head === undefined) return [];
  const { layer, outputs, before } = head;
  return [
    `The last layer, ${layer}, is new: ${outputs} outputs in place of ${before}, drawn from the seed. All other weights are those of the file.`,
  ];
}

type NamedLayer = Layer & { readonly id: string };

/** @throws Rejection MODEL_LAYER for names of layers that are not there, or have no weights */
function adaptedLayers(
  { layers, parameters, head }: BroughtModel,
  { frozen = [], lora }: Adapting,
): { readonly layers: readonly NamedLayer[]; readonly lora?: object } {
  const named = layers.map((layer, i): NamedLayer => ({ ...layer, id: layer.id ?? `n${i}` }));
  // A new head has to be trained, whatever stays as it is.
  const given = [...new Set(parameters.map(({ layer }) => layer))];
  const weighted = head === undefined ? given : [...given, head.layer];
  if (lora !== undefined) {
    const on = named.filter((layer) => takesAdapter(layer) && layer.id !== head?.layer).map(({ id }) => id);
    if (on.length === 0) refuse('MODEL_LAYER', 'a linear layer that adapters can be put on', 'none');
    const still = new Set(given.filter((id) => !on.includes(id)));
    return { layers: withFrozen(named, still), lora: { r: lora, on } };
  }
  const still = frozen === 'but-last' ? weighted.slice(0, -1) : frozen;
  const unknown = still.filter((id) => !given.includes(id));
  if (unknown.length > 0) {
    refuse('MODEL_LAYER', `layers with weights: ${given.join(', ')}`, unknown.join(', '));
  }
  return { layers: withFrozen(named, new Set(still)) };
}

function withFrozen(layers: readonly NamedLayer[], still: ReadonlySet<string>): readonly NamedLayer[] {
  return layers.map((layer) => (still.has(layer.id) ? { ...layer, frozen: true } : layer));
}

/** Weights of the file as integers of the manifest; what the file does not have is drawn. */
function startOf(
  m: NetManifest,
  model: BroughtModel,
): { readonly start: Weights; readonly wint: ReadonlyMap<string, number> } {
  const byName = new Map(model.parameters.map((one) => [one.name, one]));
  const shapes = parameterShapes(m).map((shape) => ({
    shape,
    // Adapters leave a layer's own weights in its base.
    given: byName.get(shape.name) ?? byName.get(shape.name.replace(/\.base(\.[Wb])$/, '$1')),
  }));
  const fractions = new Map(shapes.map(({ shape, given }) => [given?.name, shape.fraction]));
  const { tensors, wint: bits } = quantise(
    shapes.flatMap(({ shape, given }) => (given === undefined || isExact(given, shape.fraction) ? [] : [given])),
    { fractionOf: (name) => fractions.get(name)!, wint, room, advice: (...of) => adviceOn(model, ...of) },
  );
  const quantised = new Map(tensors.map((tensor) => [tensor.name, tensor.values]));
  const drawn = new Map(drawnParameters(m).map((tensor) => [tensor.name, tensor.values]));
  const start = shapes.map(({ shape: { name, dims }, given }): Tensor => {
    const values = given === undefined ? drawn.get(name)! : (quantised.get(given.name) ?? given.exact!.values);
    if (values.length !== sizeOf(dims)) refuse('WEIGHTS_SHAPE', `${name} [${dims.join()}]`, `${values.length} numbers`);
    return { name, dims, values };
  });
  return { start, wint: bits };
}

function adviceOn({ parameters, head, remedies = {} }: BroughtModel, layer: string, factor: number): string {
  const weighted = [...new Set(parameters.map((one) => one.layer))];
  const at = weighted.indexOf(layer);
  const next = weighted[at + 1];
  const isLast = next === undefined && head === undefined;
  const own = [at === 0 ? remedies.first : undefined, isLast ? remedies.last : undefined];
  const known = own.filter((one) => one !== undefined);
  if (known.length > 0) return known.join('; ');
  const divided = `divide weights and biases of ${layer} by ${factor}`;
  if (isLast) return `${divided}: of classes the largest answer stays the largest; or train it with smaller weights`;
  return `${divided} and multiply the weights of ${next ?? head!.layer} by it, if what lies between lets a factor pass; or train it with smaller weights`;
}

function isExact({ exact }: BroughtModel['parameters'][number], fraction: number): boolean {
  return exact?.fraction === fraction;
}
