/**
 * LoRA as shorthand (libs/step/SPEC.md §22): `{"lora": {"r", "scale", "on": [ids]}}` stands for a frozen base, two small
 * products and their sum in place of every named layer.
 */
import { refuse } from '../errors.js';
import { JsonReader } from './reader.js';

type Layer = Readonly<Record<string, unknown>>;

const rule = 'libs/step/SPEC.md §22';

/** @returns the manifest without `lora`, its layers expanded @throws Rejection MANIFEST_*, OP_LORA */
export function expandLora(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || !('lora' in json)) return json;
  const { lora, ...rest } = json as Layer;
  const read = new JsonReader(lora, 'lora', ['r', 'scale', 'on']);
  const [r, scale] = [read.integer('r', 1, 4096), read.integer('scale', -16, 16, 0)];
  const on = new Set(read.list('on'));
  const layers: readonly unknown[] = Array.isArray(rest.layers) ? rest.layers : [];
  let before: unknown = 'input';
  const expanded = layers.flatMap((one, index) => {
    const layer = typeof one === 'object' && one !== null ? (one as Layer) : {};
    const id = layer.id ?? `n${index}`;
    const named = { ...layer, id, in: layer.in ?? before };
    before = id;
    return on.delete(id) ? expandLayer(named, r, scale) : [named];
  });
  if (on.size > 0) refuse('OP_LORA', 'names of layers in lora.on', [...on].map(String).join(), rule);
  return { ...rest, layers: expanded };
}

function expandLayer(layer: Layer, r: number, scale: number): readonly Layer[] {
  const { id, in: input, a, g, out } = layer;
  if (layer.bias !== undefined && typeof layer.bias !== 'boolean') {
    refuse('OP_LORA', 'bias true or false', layer.bias, rule);
  }
  const fractions = { ...(a !== undefined && { a }), ...(g !== undefined && { g }) };
  const name = String(id);
  const low = { op: layer.op, bias: false };
  return [
    { ...layer, id: `${name}.base`, frozen: true },
    { ...low, id: `${name}.A`, in: input, out: r },
    { ...low, id: `${name}.B`, in: `${name}.A`, out, scale, init: { W: 'zero' }, ...fractions },
    { op: 'add', id: name, in: [`${name}.base`, `${name}.B`], ...fractions },
  ];
}
