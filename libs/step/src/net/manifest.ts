/**
 * The job manifest `fxt/2` (libs/step/SPEC.md §21): a list of layers on named edges. Parsing is strict, writes every
 * default out, and resolves every edge, so that equal digests mean equal semantics.
 */
import type { CanonicalValue } from '../canonical-json.js';
import { refuse } from '../errors.js';
import * as limits from '../limits.js';
import { checkNetBounds } from './bounds.js';
import type { Edge, ElementKind } from './edge.js';
import { parseEvaluation, parseStop } from './evaluation.js';
import { resolveLayers, type Resolved } from './layers.js';
import { expandLora } from './lora.js';
import type { LossPlace } from './losses/loss.js';
import { netLosses } from './losses/index.js';
import { netOptimizers } from './optimizers/index.js';
import type { NetOptimizer } from './optimizers/optimizer.js';
import type { Net, NetInput, NetManifest } from './net.js';
import { JsonReader } from './reader.js';
import { sizeOf } from '../tensors.js';

const rule = 'libs/step/SPEC.md §21';
const members = (
  'fxt seed batch steps order superblock input labelShape a g w c wint overflow layers loss optimizer ' +
  'start evaluate stop lora'
).split(' ');

const compiled = new WeakMap<NetManifest, Net>();

/**
 * @param json a parsed JSON value; defaults may be absent, and `lora` may stand for the layers that it expands to
 * @throws Rejection MANIFEST_*, OP_*, STEP_RANGE_<rule> with the layer
 */
export function parseNetManifest(json: unknown): NetManifest {
  return makeNet(json).manifest;
}

/** What follows from a manifest; made once for each. */
export function netOf(manifest: NetManifest): Net {
  const known = compiled.get(manifest);
  if (known !== undefined) return known;
  const net = makeNet(manifest);
  compiled.set(manifest, net);
  return net;
}

function makeNet(json: unknown): Net {
  const read = new JsonReader(expandLora(json), 'manifest', members);
  if (read.json('fxt') !== 2) refuse('MANIFEST_VERSION', 'fxt 2', read.json('fxt'), rule);
  const batch = read.integer('batch', 1, limits.batchMax);
  const optimizer = kindOf('optimizer', read.json('optimizer'), netOptimizers);
  const input = parseInput(read.json('input'));
  const fractions = { a: read.integer('a', 0, 16), g: read.integer('g', 1, 20), ...masters(read, optimizer.kind) };
  const wint = read.integer('wint', 0, 16);
  const seed = parseSeed(read.json('seed'));
  const resolved = resolveLayers(read.list('layers'), {
    ...{ ...fractions, batch, wint, seed, input: inputEdge(input), optimizer },
  });
  checkSize(resolved);
  checkNames(resolved, optimizer);
  const loss = kindOf('loss', read.json('loss'), netLosses);
  const labelShape = parseShape(read.has('labelShape') ? read.json('labelShape') : [], 'labelShape');
  const output = resolved.layers.at(-1)!.output;
  const place: LossPlace = { edge: output, labelShape, isTokens: 'tokens' in input };
  const labels = loss.kind.label(loss.members, place);
  const evaluate = parseEvaluation(read, batch, Object.keys(loss.kind.metrics(loss.members, place)));
  const manifest: NetManifest = {
    ...{ fxt: 2, seed, batch, steps: read.integer('steps', 1, limits.stepsMax) },
    order: read.word('order', ['affine'], 'affine'),
    superblock: parseSuperblock(read.integer('superblock', 1, limits.superblockMax, 1)),
    ...{ input, labelShape, ...fractions, wint },
    overflow: read.word('overflow', ['saturate', 'fail'], 'saturate'),
    layers: resolved.json,
    loss: { kind: loss.name, ...(loss.members as Record<string, CanonicalValue>) },
    optimizer: { kind: optimizer.name, ...(optimizer.members as Record<string, CanonicalValue>) },
    start: parseStart(read),
    evaluate,
    stop: parseStop(read, evaluate),
  };
  const { layers, parameters } = resolved;
  const net: Net = {
    ...{ manifest, input: inputEdge(input), layers, output, parameters, labels, optimizer },
    loss: { kind: loss.kind, members: loss.members, place },
  };
  checkNetBounds(net);
  compiled.set(manifest, net);
  return net;
}

/** Both are there with their defaults, or neither may be. */
function masters(read: JsonReader, kind: NetOptimizer<object>): { w?: number; c?: number } {
  if (kind.hasMasters) {
    const w = read.integer('w', 4, 48, 28);
    return { w, c: read.integer('c', 0, w, Math.min(14, w)) };
  }
  for (const name of ['w', 'c']) {
    if (read.has(name)) refuse('MANIFEST_UNKNOWN_FIELD', `no ${name} beside this optimizer`, read.json(name), rule);
  }
  return {};
}

function parseInput(json: unknown): NetInput {
  const read = new JsonReader(json, 'input', ['shape', 'dtype', 'frac', 'tokens']);
  const shape = parseShape(read.json('shape'), 'input.shape');
  if (shape.length === 0) refuse('MANIFEST_LENGTH', 'at least one axis in input.shape', 0, rule);
  if (!read.has('tokens')) {
    return {
      shape,
      dtype: read.word('dtype', ['uint8', 'int16', 'int32'], 'uint8'),
      frac: read.integer('frac', 0, 24),
    };
  }
  if (!read.boolean('tokens') || read.has('dtype') || read.has('frac')) {
    refuse('MANIFEST_UNKNOWN_FIELD', 'tokens: true without dtype and frac', 'others', rule);
  }
  return { shape, tokens: true };
}

function inputEdge(input: NetInput): Edge {
  const { shape } = input;
  const element: ElementKind = 'tokens' in input ? 'token' : input.dtype;
  const max = { uint8: 255n, int16: 1n << 15n, int32: 1n << 31n, token: 1n << 31n }[element];
  return { id: 'input', shape, a: 'tokens' in input ? 0 : input.frac, g: 0, max, element, hasError: false };
}

function parseShape(json: unknown, name: string): readonly number[] {
  if (!Array.isArray(json) || json.length > 4)
    refuse('MANIFEST_TYPE', `${name} as a list of at most 4 sizes`, json, rule);
  const shape = json.map((size: unknown) => {
    if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 1 && size <= 65_536) return size;
    return refuse('MANIFEST_RANGE', `sizes 1 to 65536 in ${name}`, size, rule);
  });
  if (sizeOf(shape) > limits.featuresMax) {
    refuse('MANIFEST_SIZE', `at most ${limits.featuresMax} elements in ${name}`, sizeOf(shape), rule);
  }
  return shape;
}

function parseSeed(value: unknown): string {
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value)) return value;
  return refuse('MANIFEST_SEED', '0x and 64 lower-case hexadecimal digits', value, rule);
}

function parseSuperblock(size: number): number {
  if ((size & (size - 1)) !== 0) refuse('MANIFEST_SUPERBLOCK', 'a power of two', size, 'libs/step/SPEC.md §9');
  return size;
}

function parseStart(read: JsonReader): NetManifest['start'] {
  if (!read.has('start')) return { kind: 'seed' };
  const start = new JsonReader(read.json('start'), 'start', ['kind', 'root']);
  if (start.word('kind', ['seed', 'weights']) === 'seed') {
    if (start.has('root')) refuse('MANIFEST_UNKNOWN_FIELD', 'no root beside a seed', start.json('root'), rule);
    return { kind: 'seed' };
  }
  return { kind: 'weights', root: parseSeed(start.json('root')) };
}

interface Kind<K> {
  readonly name: string;
  readonly kind: K;
  readonly members: object;
}

function kindOf<K extends { readonly members: readonly string[]; parse(read: JsonReader): object }>(
  what: 'loss' | 'optimizer',
  json: unknown,
  kinds: Readonly<Record<string, K>>,
): Kind<K> {
  const name = typeof json === 'object' && json !== null ? (json as { kind?: unknown }).kind : undefined;
  if (typeof name !== 'string' || !Object.hasOwn(kinds, name)) {
    return refuse(`MANIFEST_${what.toUpperCase()}`, `${what}.kind as ${Object.keys(kinds).join(', ')}`, name, rule);
  }
  const kind = kinds[name]!;
  return { name, kind, members: kind.parse(new JsonReader(json, what, ['kind', ...kind.members])) };
}

/** A tensor of the optimizer is called after its parameter, and a layer's id may have the same prefix. */
function checkNames({ parameters }: Resolved, { kind, members: of }: Kind<NetOptimizer<object>>): void {
  const trained = parameters.filter(({ isFrozen }) => !isFrozen);
  const kept = new Set(kind.states(of).flatMap((state) => trained.map(({ name }) => `${state}.${name}`)));
  const same = parameters.find(({ name }) => kept.has(name));
  if (same !== undefined) refuse('OP_INPUT', 'an id that no tensor of the optimizer is called by', same.layer, rule);
}

function checkSize({ layers, parameters }: Resolved): void {
  const count = parameters.reduce((sum, { dims }) => sum + sizeOf(dims), 0);
  if (count > limits.parametersMax) {
    refuse('MANIFEST_SIZE', `at most ${limits.parametersMax} weights and biases`, count, rule);
  }
  for (const { id, output, batch } of layers) {
    const elements = batch * sizeOf(output.shape);
    if (elements <= limits.edgeElementsMax) continue;
    refuse('MANIFEST_SIZE', `at most ${limits.edgeElementsMax} elements of ${id} in a batch`, elements, rule);
  }
}
