/** The nets of fxt 2 whose training speed is measured: two optimizers on an MLP, a CNN and a transformer. */
import { parseNetManifest, type NetManifest } from '#libs/step';

export interface MeasuredNet {
  readonly name: string;
  readonly manifest: NetManifest;
  /** Of the state after three steps on the bench's examples. */
  readonly digest: string;
  /** Real rate of a float32 trainer, on the gradient sum. */
  readonly rate: number;
}

const seed = '0xe6681a75b42907753a292d0d5772b50990ef3e574bb4077b96a6e010e1306a53';
const lr = {
  frac: 24,
  points: [
    [0, 16_777],
    [100, 33_554],
    [1404, 0],
  ],
};
const adamw = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr };
const fine = { fxt: 2, seed, a: 8, g: 12, wint: 3, steps: 1404 };
const image = (shape: readonly number[]) => ({ shape, frac: 8 });
const mlp = (relu: object) => [
  ...[{ op: 'dense', out: 128 }, relu, { op: 'dense', out: 64 }, relu],
  { op: 'dense', out: 10 },
];

/** Layers of a causal transformer between its positions and its last norm. */
export function block(at: number, width: number, heads: number): readonly object[] {
  const own = (name: string) => `l${at}.${name}`;
  const from = at === 0 ? 'pos' : `l${at - 1}.r2`;
  const projection = (name: string) => ({ id: own(name), op: 'dense', in: own('n1'), out: width, bias: false });
  return [
    { id: own('n1'), op: 'rmsnorm', in: from },
    ...['q', 'k', 'v'].map(projection),
    { id: own('a'), op: 'attention', in: ['q', 'k', 'v'].map(own), heads, causal: true },
    { id: own('o'), op: 'dense', out: width },
    { id: own('r1'), op: 'add', in: [from, own('o')] },
    { id: own('n2'), op: 'rmsnorm' },
    { id: own('f1'), op: 'dense', out: 4 * width },
    { id: own('g'), op: 'gelu' },
    { id: own('f2'), op: 'dense', out: width },
    { id: own('r2'), op: 'add', in: [own('r1'), own('f2')] },
  ];
}

/** Layers of a causal language model of 69 characters, C 64, 4 heads. @param blocks how many */
export const transformer = (blocks: number): readonly object[] => [
  { id: 'emb', op: 'embedding', vocab: 69, out: 64 },
  { id: 'pos', op: 'position' },
  ...Array.from({ length: blocks }, (_, at) => block(at, 64, 4)).flat(),
  { op: 'rmsnorm' },
  { op: 'dense', out: 69, bias: false },
];

const manifests: readonly (readonly [string, number, string, unknown])[] = [
  [
    'MLP 784-128-64-10, batch 128, sgd-exact',
    2 ** -9,
    '4a5b08b484c9214f951805da1a08dfb234b8afa9b82ed4017aa36bfc3fd12a23',
    {
      ...{ fxt: 2, seed, a: 6, g: 10, wint: 2, steps: 1404, batch: 128, input: image([784]) },
      ...{ layers: mlp({ op: 'relu', abits: 12 }), loss: { kind: 'softmax-ce', E: 10, k: 26 } },
      optimizer: { kind: 'sgd-exact', e: 9, m: [[0, 1]] },
    },
  ],
  [
    'MLP 784-128-64-10, batch 128, AdamW',
    0.001,
    '528e4967fe1fdcf318d4fe17517d34a57897210b91c63852cafe89f6b70e1614',
    {
      ...{ ...fine, batch: 128, input: image([784]), layers: mlp({ op: 'relu' }) },
      ...{ loss: { kind: 'softmax-ce', E: 12, k: 28 }, optimizer: adamw },
    },
  ],
  [
    'CNN 5×5×8, 5×5×16, 64, 10, batch 64, AdamW',
    0.001,
    '77ce92d12d6766026c4ba3864a6a85e4e7fd6c797aa2ec3ae91804cad53e6eea',
    {
      ...{ ...fine, batch: 64, input: image([28, 28, 1]) },
      layers: [
        ...[{ op: 'conv2d', k: [5, 5], out: 8 }, { op: 'relu' }, { op: 'maxpool', k: [2, 2] }],
        ...[{ op: 'conv2d', k: [5, 5], out: 16 }, { op: 'relu' }, { op: 'maxpool', k: [2, 2] }],
        ...[{ op: 'flatten' }, { op: 'dense', out: 64 }, { op: 'relu' }, { op: 'dense', out: 10 }],
      ],
      loss: { kind: 'softmax-ce', E: 12, k: 28 },
      optimizer: { ...adamw, decay: 655, clip: 1500 },
    },
  ],
  [
    'transformer 2 layers, C 64, 4 heads, T 64, batch 16, AdamW',
    0.001,
    'ad584d5f991488c3bf003f6ef5a1b368f1d53dd11b3e3f644fba337caa45695e',
    {
      ...{ ...fine, batch: 16, input: { shape: [64], tokens: true }, labelShape: [64] },
      layers: transformer(2),
      loss: { kind: 'softmax-ce', E: 12, k: 36 },
      optimizer: { ...adamw, decay: 3277, clip: 7500 },
    },
  ],
];

export const measuredNets = (): readonly MeasuredNet[] =>
  manifests.map(([name, rate, digest, json]) => ({ name, rate, digest, manifest: parseNetManifest(json) }));
