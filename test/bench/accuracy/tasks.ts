/** The rows of the table of accuracies: every net, its data, its schedule. */
import { readFileSync } from 'node:fs';
import { parseNetManifest, type NetManifest } from '#libs/step';
import { transformer } from '../model-nets.js';
import { fashionFolder, fetchedPathIfAny, mnistFolder, shipped, textsOf } from './files.js';
import { testImages, trainImages } from './images.js';
import { boston, breastCancer, foldsOf, penguinFacts, penguins, type Table } from './tables.js';
import type { Part, Task } from './task.js';
import { Characters, windows } from './texts.js';

const seed = '0x94a5decf512bf63ba89e4ecf4269e22ed7dad0933c955b358c1ab22356b4dff2';
const fine = { fxt: 2, seed, a: 8, g: 12, wint: 3 };
const classes = { kind: 'softmax-ce', E: 12, k: 28 };
const image = { shape: [28, 28, 1], frac: 8 };

/** Warm-up to the peak and a cosine in 32 parts to 0. */
function cosine(peak: number, steps: number, warmup: number) {
  const top = peak * 2 ** 24;
  const fall = Array.from({ length: 32 }, (_, i) => {
    const share = (i + 1) / 32;
    return [Math.round(warmup + (steps - warmup) * share), Math.round((top * (1 + Math.cos(Math.PI * share))) / 2)];
  });
  return { frac: 24, points: [[0, Math.round(top / warmup)], [warmup, Math.round(top)], ...fall] };
}

const adamw = (peak: number, steps: number, more: object = { decay: 655 }) => {
  const warmup = Math.min(100, Math.max(1, Math.floor(steps / 10)));
  return { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], ...more, lr: cosine(peak, steps, warmup) };
};

const net = (metric: string, steps: number, json: object): NetManifest =>
  parseNetManifest({ ...fine, steps, ...json, evaluate: { every: steps, metrics: [metric] } });

const convolutions = (pool: string, relu: object): readonly object[] => {
  const stage = (out: number) => [{ op: 'conv2d', k: [5, 5], out }, relu, { op: pool, k: [2, 2] }];
  return [...stage(8), ...stage(16), { op: 'flatten' }, { op: 'dense', out: 64 }, relu, { op: 'dense', out: 10 }];
};

const lenet = (steps: number): NetManifest =>
  net('accuracy', steps, {
    ...{ input: image, batch: 64, layers: convolutions('maxpool', { op: 'relu' }), loss: classes },
    optimizer: adamw(0.002, steps),
  });

const exactCnn = (steps: number): NetManifest =>
  net('accuracy', steps, {
    ...{ a: 6, g: 10, batch: 64, input: image, layers: convolutions('avgpool', { op: 'relu', abits: 12 }) },
    ...{ loss: { kind: 'softmax-ce', E: 10, k: 26 } },
    optimizer: { kind: 'sgd-exact', e: 10, m: [...(steps > 1 ? [[0, 2]] : []), [steps >> 1, 1]] },
  });

const mlp = (steps: number): NetManifest =>
  net('accuracy', steps, {
    ...{ input: { shape: [784], frac: 8 }, batch: 64, loss: classes },
    layers: [128, 64, 10].flatMap((out, at) => [...(at > 0 ? [{ op: 'relu' }] : []), { op: 'dense', out }]),
    optimizer: adamw(0.002, steps),
  });

/** @param seeds a training for each of them */
const images =
  (folder: () => string, of: (steps: number) => NetManifest, steps: number, seeds: readonly string[] = [seed]) =>
  (share: number): readonly Part[] => {
    const manifest = of(Math.ceil(steps * share));
    const test = testImages(folder());
    return seeds.map((own) => ({ manifest: { ...manifest, seed: own }, examples: trainImages(folder(), own), test }));
  };

const fiveSeeds = [seed, ...['11', '22', '33', '44'].map((byte) => `0x${byte.repeat(32)}`)];

/** `beta2` as libs/models chooses it for text. */
const ofText = { beta2: [3, 8], decay: 3277, clip: 7500 };
const length = 64;
const language = { batch: 16, input: { shape: [length], tokens: true }, labelShape: [length] };
const speech = (blocks: number, steps: number): NetManifest =>
  net('loss', steps, {
    ...{ ...language, layers: transformer(blocks), loss: { kind: 'softmax-ce', E: 12, k: 36 } },
    optimizer: adamw(0.004, steps, ofText),
  });

interface Text {
  readonly train: string;
  readonly test: string;
}

const testCharacters = 64 * 500;
const ended = (text: string): Text => ({ train: text.slice(0, -testCharacters), test: text.slice(-testCharacters) });
const own = (train: string, test: string): Text => ({
  train: readFileSync(shipped(train), 'utf8'),
  test: readFileSync(shipped(test), 'utf8'),
});

function mobyDick(): Text {
  const folder = fetchedPathIfAny('moby-dick');
  return folder === undefined ? own('text/moby-dick.txt', 'text/moby-dick-16.txt') : ended(textsOf(folder, 'chapter_'));
}

function speeches(): Text {
  const folder = fetchedPathIfAny('sotu');
  return folder === undefined ? own('lora/lincoln.txt', 'lora/lincoln-end.txt') : ended(textsOf(folder));
}

const characters = (): Characters => new Characters(mobyDick().train, 69);

const story =
  (blocks: number, steps: number) =>
  (share: number): readonly Part[] => {
    const [text, known] = [mobyDick(), characters()];
    const manifest = speech(blocks, Math.ceil(steps * share));
    const examples = windows(known.tokens(text.train), length, seed);
    return [{ manifest, examples, test: windows(known.tokens(text.test), length) }];
  };

const adaptedLayers = [0, 1].flatMap((at) => ['q', 'k', 'v', 'o', 'f1', 'f2'].map((name) => `l${at}.${name}`));
const withParameters = ['embedding', 'position', 'rmsnorm', 'dense'];

function adapted(share: number): readonly Part[] {
  const steps = Math.ceil(150 * share);
  const [text, known] = [speeches(), characters()];
  const layers = (transformer(2) as readonly { readonly id?: string; readonly op: string }[]).map((layer) =>
    withParameters.includes(layer.op) && !adaptedLayers.includes(layer.id ?? '') ? { ...layer, frozen: true } : layer,
  );
  const manifest = net('loss', steps, {
    ...{ ...language, layers, loss: { kind: 'softmax-ce', E: 12, k: 36 } },
    lora: { r: 8, scale: 1, on: adaptedLayers },
    optimizer: adamw(0.004, steps, ofText),
  });
  const examples = windows(known.tokens(text.train), length, seed);
  const { manifest: base, examples: read } = story(2, 450)(share)[0]!;
  const test = windows(known.tokens(text.test), length);
  return [{ manifest, examples, test, base: { manifest: base, examples: read } }];
}

interface Tabular {
  readonly metric: string;
  readonly steps: number;
  readonly batch: number;
  readonly output: object;
  readonly loss: object;
}

/** Two hidden layers of 32. */
const table =
  (read: () => Table, { metric, steps, batch, output, loss }: Tabular) =>
  (share: number): readonly Part[] => {
    const rows = read();
    const labelShape = metric === 'accuracy' ? [] : [rows.targets[0]!.length];
    const layers = [{ op: 'dense', out: 32 }, { op: 'gelu' }, { op: 'dense', out: 32 }, { op: 'gelu' }, output];
    const of = Math.ceil(steps * share);
    const manifest = net(metric, of, {
      ...{ batch, labelShape, layers, loss, optimizer: adamw(0.005, of) },
      input: { shape: [rows.features[0]!.length], dtype: 'int16', frac: 12 },
    });
    const folds = foldsOf(rows, seed, metric === 'sse');
    return folds.map(({ train, test, unit }) => ({ manifest, examples: train, test, unit }));
  };

const choosing = (out: number) => ({ metric: 'accuracy', output: { op: 'dense', out }, loss: classes });

export const tasks: readonly Task[] = [
  {
    ...{ name: 'mnist-cnn', what: 'LeNet-like CNN, AdamW, 1,404 steps', metric: 'accuracy', atLeast: 98.8 },
    parts: images(mnistFolder, lenet, 1404),
  },
  {
    ...{ name: 'mnist-cnn-exact', what: 'the CNN with avgpool, sgd-exact, 1,872 steps', metric: 'accuracy' },
    parts: images(mnistFolder, exactCnn, 1872),
  },
  {
    ...{ name: 'fashion-cnn', what: 'LeNet-like CNN, AdamW, 1,100 steps, on Fashion-MNIST', metric: 'accuracy' },
    parts: images(fashionFolder, lenet, 1100),
  },
  {
    ...{ name: 'fashion-cnn-seeds', what: 'the same with five seeds', metric: 'accuracy', isByName: true },
    parts: images(fashionFolder, lenet, 1100, fiveSeeds),
  },
  {
    ...{ name: 'mnist-mlp', what: 'MLP 784-128-64-10, AdamW, 936 steps', metric: 'accuracy' },
    parts: images(mnistFolder, mlp, 936),
  },
  {
    ...{ name: 'transformer-2', what: '2-layer causal transformer, 450 steps, on Moby-Dick', metric: 'perplexity' },
    parts: story(2, 450),
  },
  {
    ...{ name: 'transformer-6', what: '6-layer causal transformer, 300 steps, on Moby-Dick', metric: 'perplexity' },
    parts: story(6, 300),
  },
  {
    ...{ name: 'lora', what: 'LoRA r 8 on the frozen 2-layer net, 150 steps, on speeches', metric: 'perplexity' },
    parts: adapted,
  },
  {
    ...{ name: 'penguins', what: '4-32-32-3, species of 342 penguins, 5 folds', metric: 'accuracy' },
    parts: table(penguins, { ...choosing(3), steps: 300, batch: 16 }),
  },
  {
    ...{ name: 'penguin-facts', what: '4-32-32-4, sex and species of 333 penguins, 5 folds', metric: 'label-accuracy' },
    parts: table(penguinFacts, {
      ...{ metric: 'label-accuracy', steps: 300, batch: 16, output: { op: 'dense', out: 4, a: 10 } },
      loss: { kind: 'sigmoid-bce' },
    }),
  },
  {
    ...{ name: 'breast-cancer', what: '30-32-32-2, 569 rows, 5 folds', metric: 'accuracy' },
    parts: table(breastCancer, { ...choosing(2), steps: 300, batch: 16 }),
  },
  {
    ...{ name: 'boston', what: '13-32-32-1, prices in 1,000 $ of 506 houses, 5 folds', metric: 'rmse' },
    parts: table(boston, {
      ...{ metric: 'sse', steps: 600, batch: 16, output: { op: 'dense', out: 1, a: 12 }, loss: { kind: 'mse' } },
    }),
  },
];
