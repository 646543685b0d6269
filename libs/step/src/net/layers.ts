/** Layers in order, each with its edges and parameters resolved (libs/step/SPEC.md §21). */
import type { CanonicalValue } from '../canonical-json.js';
import { refuse } from '../errors.js';
import * as limits from '../limits.js';
import {
  edgeMax,
  type Edge,
  type NetLayer,
  type NetParameter,
  type ParameterDraft,
  type ParameterRole,
} from './edge.js';
import { netOps } from './ops/index.js';
import type { NetOp } from './ops/op.js';
import type { NetOptimizer } from './optimizers/optimizer.js';
import { JsonReader } from './reader.js';

export interface Resolved {
  readonly layers: readonly NetLayer[];
  /** In layer order, `W` before `b`. */
  readonly parameters: readonly NetParameter[];
  /** The layers with every default written out. */
  readonly json: readonly Readonly<Record<string, CanonicalValue>>[];
}

interface Defaults {
  readonly a: number;
  readonly g: number;
  readonly w?: number;
  readonly c?: number;
  readonly wint: number;
  readonly batch: number;
  readonly seed: string;
  readonly input: Edge;
  readonly optimizer: { readonly kind: NetOptimizer<object>; readonly members: object };
}

const rule = 'libs/step/SPEC.md §21';
const common = ['op', 'id', 'in', 'a', 'g'];
const ofParameters = ['frozen', 'wint', 'init'];

/** @throws Rejection MANIFEST_*, OP_UNKNOWN, OP_INPUT, OP_MEMBER, OP_SHAPE */
export function resolveLayers(list: readonly unknown[], defaults: Defaults): Resolved {
  if (list.length < 1 || list.length > limits.netLayersMax) {
    refuse('MANIFEST_LENGTH', `1 to ${limits.netLayersMax} layers`, list.length, rule);
  }
  const edges = new Map<string, Edge>([['input', defaults.input]]);
  const unread = new Set(['input']);
  const layers: NetLayer[] = [];
  const json: Resolved['json'][number][] = [];
  for (const [index, one] of list.entries()) {
    const made = resolveLayer(one, index, layers.at(-1)?.id ?? 'input', edges, defaults);
    layers.push(made.layer);
    json.push(made.json);
    for (const { id } of made.layer.inputs) unread.delete(id);
    edges.set(made.layer.id, made.layer.output);
    unread.add(made.layer.id);
  }
  unread.delete(layers.at(-1)!.id);
  if (unread.size > 0) refuse('OP_INPUT', 'every edge but the last read by a layer', [...unread].join(), rule);
  const parameters = layers.flatMap((layer) => (['W', 'b'] as const).flatMap((role) => layer.parameters[role] ?? []));
  return { layers, parameters, json };
}

function resolveLayer(
  one: unknown,
  index: number,
  before: string,
  edges: ReadonlyMap<string, Edge>,
  defaults: Defaults,
): { readonly layer: NetLayer; readonly json: Resolved['json'][number] } {
  const [name, op] = opOf(one);
  const read = new JsonReader(one, `layers[${index}]`, [...common, ...ofParameters, ...op.members]);
  const id = idOf(read, index, edges);
  const inputs = inputsOf(read, before, edges, op, id);
  const first = inputs[0]!;
  const a = read.integer('a', 0, 24, op.inherits === undefined ? defaults.a : first.a);
  const g = read.integer('g', 1, 20, op.inherits === 'both' ? gOf(first, defaults) : defaults.g);
  if (op.inherits !== undefined && a !== first.a) {
    refuse('OP_MEMBER', `${id} with the fraction a ${first.a} of its input`, a, rule);
  }
  if (op.inherits === 'both' && first.id !== 'input' && g !== first.g) {
    refuse('OP_MEMBER', `${id} with the fraction g ${first.g} of its input`, g, rule);
  }
  const members = op.parse(read, inputs);
  const place = { id, index, batch: defaults.batch };
  const { shape, max = edgeMax, parameters: drafts = [] } = op.shape(members, inputs, { a, g }, place);
  if (drafts.length === 0) refuseParameterMembers(read, id);
  const isFrozen = drafts.length > 0 && read.boolean('frozen', false);
  const wint = read.integer('wint', 0, 16, defaults.wint);
  const init = initOf(read, op);
  const parameters = parametersOf(drafts, { id, isFrozen, wint, init }, defaults);
  const hasTrained = drafts.length > 0 && !isFrozen;
  const hasError = hasTrained || inputs.some((edge) => edge.hasError);
  const output: Edge = { id, shape, a, g, max, element: 'int16', hasError };
  const written = {
    ...{ op: name, id, in: inputs.map((edge) => edge.id), a, g, ...(members as Record<string, CanonicalValue>) },
    ...(drafts.length > 0 && { frozen: isFrozen, wint }),
    ...(drafts.length > 0 && init !== undefined && { init: { W: init === 'zero' ? init : { n: init } } }),
  };
  const { batch, seed } = defaults;
  return { layer: { id, index, op: name, members, inputs, output, parameters, batch, seed }, json: written };
}

/** An input edge has no error; what leaves it towards a trained layer has the default fraction. */
function gOf(edge: Edge, { g }: Defaults): number {
  return edge.id === 'input' ? g : edge.g;
}

function opOf(one: unknown): readonly [string, NetOp<object>] {
  const name = typeof one === 'object' && one !== null ? (one as { op?: unknown }).op : undefined;
  if (typeof name === 'string' && Object.hasOwn(netOps, name)) return [name, netOps[name]!];
  const known = Object.keys(netOps).join(', ');
  if (name === 'batchnorm') {
    refuse(
      'OP_BATCHNORM',
      'rmsnorm or layernorm, or an import with its statistics folded',
      name,
      'libs/step/SPEC.md §22',
    );
  }
  return refuse('OP_UNKNOWN', `op as ${known}`, name, rule);
}

function idOf(read: JsonReader, index: number, edges: ReadonlyMap<string, Edge>): string {
  const id = read.has('id') ? read.json('id') : `n${index}`;
  const isName = typeof id === 'string' && /^[A-Za-z0-9._]{1,64}$/.test(id) && !edges.has(id);
  return isName ? id : refuse('OP_INPUT', `${read.name}.id of letters, digits, . and _, used once`, id, rule);
}

function inputsOf(
  read: JsonReader,
  before: string,
  edges: ReadonlyMap<string, Edge>,
  { arity, reads = ['int16', 'uint8'] }: NetOp<object>,
  id: string,
): readonly Edge[] {
  const given = read.has('in') ? read.json('in') : before;
  const names: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (names.length !== arity) refuse('OP_INPUT', `${arity} inputs of ${id}`, names.length, rule);
  return names.map((name) => {
    const edge = typeof name === 'string' ? edges.get(name) : undefined;
    if (edge === undefined) return refuse('OP_INPUT', `inputs of ${id} among the layers before it`, name, rule);
    if (!reads.includes(edge.element)) refuse('OP_INPUT', `${reads.join(', ')} into ${id}`, edge.element, rule);
    return edge;
  });
}

function refuseParameterMembers(read: JsonReader, id: string): void {
  for (const name of ofParameters) {
    if (read.has(name)) refuse('OP_MEMBER', `no ${name} in ${id}, which has no parameters`, read.json(name), rule);
  }
}

/** `n` of the start's range, or zero; undefined where nothing is drawn. */
function initOf(read: JsonReader, { drawN }: NetOp<object>): number | 'zero' | undefined {
  if (drawN === undefined) {
    if (read.has('init')) refuse('OP_MEMBER', `no init in ${read.name}`, 'init', rule);
    return undefined;
  }
  if (!read.has('init')) return drawN;
  const init = new JsonReader(read.json('init'), `${read.name}.init`, ['W']);
  if (init.json('W') === 'zero') return 'zero';
  return new JsonReader(init.json('W'), `${read.name}.init.W`, ['n']).integer('n', 1, 1 << 20);
}

interface OwnParameters {
  readonly id: string;
  readonly isFrozen: boolean;
  readonly wint: number;
  readonly init: number | 'zero' | undefined;
}

function parametersOf(
  drafts: readonly ParameterDraft[],
  { id, isFrozen, wint, init }: OwnParameters,
  { w, c, optimizer }: Defaults,
): NetLayer['parameters'] {
  const fractionOf = (draft: ParameterDraft): number => {
    const fraction = w ?? optimizer.kind.fraction!(optimizer.members, draft);
    if (fraction < 0) refuse('STEP_RANGE_START', `${id}.${draft.role} of a fraction w from 0`, fraction, rule);
    return fraction;
  };
  const weight = drafts.find(({ role }) => role === 'W');
  const parameters: Partial<Record<ParameterRole, NetParameter>> = {};
  for (const draft of drafts) {
    const { draw, ...rest } = draft;
    const isZero = draw !== undefined && init === 'zero';
    parameters[draft.role] = {
      ...rest,
      ...(draw !== undefined && !isZero && { draw: { ...draw, n: typeof init === 'number' ? init : draw.n } }),
      ...(isZero && { start: 'zero' }),
      ...{ name: `${id}.${draft.role}`, layer: id, fraction: fractionOf(draft), wint, isFrozen },
      compute: c ?? fractionOf(weight!),
    };
  }
  return parameters;
}
