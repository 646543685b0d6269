/** LoRA layers as the one layer that they are together: `W + 2^scale·A·B` (libs/step/SPEC.md §22). */
import { parseNetManifest, type NetManifest } from '#libs/step';

type Layer = NetManifest['layers'][number];

/** Real values of parameters by name. */
export type RealValues = ReadonlyMap<string, Float64Array>;

interface Merged {
  readonly manifest: NetManifest;
  readonly values: RealValues;
}

interface Adapter {
  readonly id: string;
  readonly base: Layer;
  readonly up: Layer;
  readonly parts: readonly string[];
}

/** @returns a net without adapters that computes the same in real numbers; the same net where it has none */
export function mergeLora(manifest: NetManifest, values: RealValues): Merged {
  const byId = new Map(manifest.layers.map((layer) => [String(layer.id), layer]));
  const adapters = manifest.layers.flatMap((layer) => adapterOf(layer, byId));
  if (adapters.length === 0) return { manifest, values };
  const merged = new Map(values);
  for (const { id, base, up } of adapters) {
    const [W, A, B] = [`${id}.base.W`, `${id}.A.W`, `${id}.B.W`].map((name) => values.get(name)!);
    merged.set(`${id}.W`, sumOf(W!, A!, B!, Number(base.out), 2 ** Number(up.scale)));
    const b = values.get(`${id}.base.b`);
    if (b !== undefined) merged.set(`${id}.b`, b);
  }
  const bases = new Map(adapters.map(({ id, base }) => [`${id}.base`, { ...base, id, frozen: false }]));
  const gone = new Set(adapters.flatMap(({ parts }) => parts));
  const layers = manifest.layers.flatMap((layer) => {
    const base = bases.get(String(layer.id));
    return base === undefined ? (gone.has(String(layer.id)) ? [] : [layer]) : [base];
  });
  return { manifest: parseNetManifest({ ...manifest, layers }), values: merged };
}

/** The parts that `expandLora` of libs/step made of a layer. */
function adapterOf(layer: Layer, byId: ReadonlyMap<string, Layer>): readonly Adapter[] {
  const id = String(layer.id);
  const [base, down, up] = ['base', 'A', 'B'].map((part) => byId.get(`${id}.${part}`));
  if (layer.op !== 'add' || !base || !down || !up || base.op !== 'dense' || up.op !== 'dense') return [];
  const isSum = String(layer.in) === `${id}.base,${id}.B` && String(up.in) === `${id}.A`;
  const isSide = String(down.in) === String(base.in) && Number(base.scale) === 0;
  return isSum && isSide ? [{ id, base, up, parts: [id, `${id}.A`, `${id}.B`] }] : [];
}

/** Whether `lora` of a manifest may name the layer. */
export function takesAdapter({ op, scale = 0 }: Readonly<Record<string, unknown>>): boolean {
  return op === 'dense' && scale === 0;
}

function sumOf(W: Float64Array, A: Float64Array, B: Float64Array, out: number, factor: number): Float64Array {
  const r = B.length / out;
  return W.map((value, at) => {
    const [row, column] = [Math.floor(at / out), at % out];
    let sum = 0;
    for (let k = 0; k < r; k++) sum += A[row * r + k]! * B[k * out + column]!;
    return value + factor * sum;
  });
}
