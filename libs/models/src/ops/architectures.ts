/** Layers of nets that are good to begin with (models of this size were measured; libs/models/README.md). */

export type Architecture = 'mlp' | 'cnn' | 'transformer' | 'linear';

type Layer = Readonly<Record<string, unknown>>;

export interface Sketch {
  readonly layers: readonly Layer[];
  /** What it is, in words. */
  readonly words: string;
}

interface Ends {
  /** Of one record. */
  readonly shape: readonly number[];
  /** Of the last layer. */
  readonly outputs: number;
  readonly last: Layer;
  /** Tokens that are known; 0 where the features are numbers. */
  readonly vocab: number;
  /** Whether a step proof shall cover the layers. */
  readonly isProved: boolean;
}

const hidden = 32;
const [width, heads, depth] = [64, 4, 2];

/** One for each architecture. */
export const sketches: Readonly<Record<Architecture, (ends: Ends) => Sketch>> = {
  linear: (ends) => ({ layers: [...flat(ends.shape), end(ends)], words: 'one layer' }),
  mlp: (ends) => {
    const size = ends.shape.length > 1 ? 2 * hidden : hidden;
    const bend = ends.isProved ? { op: 'relu', abits: 12 } : { op: 'gelu' };
    const layers = [...flat(ends.shape), { op: 'dense', out: size }, bend, { op: 'dense', out: size }, bend, end(ends)];
    return { layers, words: `two hidden layers of ${size}` };
  },
  cnn: (ends) => {
    const { layers, words } = blocks(ends);
    const bend = ends.isProved ? { op: 'relu', abits: 12 } : { op: 'relu' };
    return { layers: [...layers, { op: 'flatten' }, { op: 'dense', out: 64 }, bend, end(ends)], words };
  },
  transformer: ({ vocab, outputs, last }) => ({
    layers: [
      { id: 'emb', op: 'embedding', vocab, out: width },
      { id: 'pos', op: 'position' },
      ...Array.from({ length: depth }, (_, index) => block(index)).flat(),
      { id: 'norm', op: 'layernorm' },
      { id: 'out', op: 'dense', out: outputs, bias: false, ...last },
    ],
    words: `a causal transformer of ${depth} layers, width ${width}, ${heads} heads`,
  }),
};

function flat(shape: readonly number[]): readonly Layer[] {
  return shape.length > 1 ? [{ op: 'flatten' }] : [];
}

function end({ outputs, last }: Ends): Layer {
  return { op: 'dense', out: outputs, ...last };
}

/** Convolutions with pools between them until a side is short. */
function blocks({ shape, isProved }: Ends): Sketch {
  const layers: Layer[] = [];
  const outs: number[] = [];
  let side = Math.min(shape[0]!, shape[1]!);
  const isWide = side >= 20;
  while (outs.length < 2 || side > 8) {
    if (side < 2) break;
    const k = isWide && outs.length < 2 ? 5 : 3;
    const out = Math.min(64, 8 * 2 ** outs.length);
    layers.push({ op: 'conv2d', k: [k, k], out, ...(k === 3 && { pad: [1, 1, 1, 1] }) });
    layers.push({ op: 'relu', ...(isProved && { abits: 12 }) }, { op: isProved ? 'avgpool' : 'maxpool', k: [2, 2] });
    outs.push(out);
    side = Math.floor((k === 5 ? side - 4 : side) / 2);
  }
  return { layers, words: `convolutions with ${outs.join(', ')} channels and pools, then a layer of 64` };
}

function block(index: number): readonly Layer[] {
  const [id, before] = [`l${index}`, index === 0 ? 'pos' : `l${index - 1}.r2`];
  const projected = (name: string): Layer => ({
    ...{ id: `${id}.${name}`, op: 'dense', in: `${id}.n1`, out: width, bias: false },
  });
  return [
    { id: `${id}.n1`, op: 'rmsnorm', in: before },
    ...['q', 'k', 'v'].map(projected),
    { id: `${id}.a`, op: 'attention', in: [`${id}.q`, `${id}.k`, `${id}.v`], heads, causal: true },
    { id: `${id}.o`, op: 'dense', out: width },
    { id: `${id}.r1`, op: 'add', in: [before, `${id}.o`] },
    { id: `${id}.n2`, op: 'rmsnorm' },
    { id: `${id}.f1`, op: 'dense', out: 2 * width },
    { id: `${id}.g`, op: 'gelu' },
    { id: `${id}.f2`, op: 'dense', out: width },
    { id: `${id}.r2`, op: 'add', in: [`${id}.r1`, `${id}.f2`] },
  ];
}
