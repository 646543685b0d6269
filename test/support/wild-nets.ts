/** Small nets of every op with members anywhere in their ranges: what the range rules of `fxt/2` are attacked with. */
export type Json = Readonly<Record<string, unknown>>;
type Random = () => number;

const whole = (next: Random, low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
const one = <T>(next: Random, from: readonly T[]): T => from[whole(next, 0, from.length - 1)]!;
/** 1 … 2^bits, every number of bits as likely. */
const power = (next: Random, bits: number): number => Math.min(2 ** bits, Math.floor(2 ** (next() * bits)));

/** Layers that leave the shape as it is. */
const between: readonly ((next: Random) => Json)[] = [
  (next) => ({ op: 'dense', out: 4, bias: next() < 0.5 }),
  () => ({ op: 'relu' }),
  () => ({ op: 'layernorm' }),
  () => ({ op: 'rmsnorm' }),
  (next) => ({ op: 'dropout', p16: whole(next, 0, 65_535) }),
];
const curves = ['gelu', 'silu', 'tanh', 'sigmoid'];

const bodies: readonly ((next: Random) => { readonly input: Json; readonly layers: readonly Json[] })[] = [
  (next) => ({
    input: { shape: [4], dtype: one(next, ['uint8', 'int16', 'int32']), frac: 8 },
    layers: [{ op: 'dense', out: 4 }, ...residual(next)],
  }),
  (next) => ({
    input: { shape: [5, 4, 2], dtype: one(next, ['uint8', 'int16', 'int32']), frac: 8 },
    layers: [
      { op: 'conv2d', k: [3, 2], out: 2, stride: [whole(next, 1, 2), 1], pad: [1, 1, 0, 1] },
      { op: one(next, ['maxpool', 'avgpool']), k: [1, whole(next, 1, 3)] },
      { op: 'conv2d', k: [2, 1], out: 3, bias: false },
      { op: 'flatten' },
      { op: 'dense', out: 4 },
    ],
  }),
  (next) => ({
    input: { shape: [3, 2], dtype: 'int16', frac: 8 },
    layers: [{ id: 'x', op: 'dense', out: 4 }, ...attention(next), { op: 'meanpool' }, ...residual(next)],
  }),
  (next) => ({
    input: { shape: [3], tokens: true },
    layers: [
      { op: 'embedding', vocab: 3, out: 4 },
      { id: 'x', op: 'position' },
      ...attention(next),
      ...(next() < 0.5 ? [] : [{ op: 'meanpool' }]),
    ],
  }),
];

/** One to three layers, and perhaps their sum with what went in. */
function residual(next: Random): readonly Json[] {
  const inner = Array.from({ length: whole(next, 1, 3) }, () => one(next, between)(next));
  const curve = next() < 0.25 ? [{ op: one(next, curves) }] : [];
  if (next() < 0.5) return [...inner, ...curve];
  return [{ id: 'from', op: 'dense', out: 4 }, ...inner, ...curve, { id: 'to', op: 'dense', out: 4 }].concat([
    { op: 'add', in: ['from', 'to'] },
  ] as never);
}

function attention(next: Random): readonly Json[] {
  return [
    ...['q', 'k', 'v'].map((id) => ({ id, op: 'dense', in: 'x', out: 4 })),
    { id: 'at', op: 'attention', in: ['q', 'k', 'v'], heads: whole(next, 1, 2), causal: next() < 0.5 },
    { op: 'add', in: ['x', 'at'] },
    ...(next() < 0.5 ? [{ op: 'rmsnorm' }] : []),
  ];
}

/** A net that is let through, of a random make. */
export function plainNet(next: Random): Json {
  const { input, layers } = one(next, bodies)(next);
  const isExact = next() < 0.3;
  const isSequence = input.tokens === true && !layers.some(({ op }) => op === 'meanpool');
  const labelled = loss(next, isSequence ? [3] : []);
  const optimizer = isExact ? { kind: 'sgd-exact', e: 4, m: [[0, 1]] } : quantised(next);
  const frozen = layers.findLastIndex(({ op }) => op === 'dense');
  return {
    ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: whole(next, 1, 3), steps: 8, input, optimizer, ...labelled },
    ...{ a: 8, g: 10, wint: 3 },
    layers: [
      ...layers.map((layer, i) => (i === frozen && next() < 0.2 ? { ...layer, frozen: true } : layer)),
      { op: 'dense', out: 2, a: 10 },
    ],
  };
}

function loss(next: Random, rows: readonly number[]): Json {
  return one(next, [
    { loss: { kind: 'softmax-ce', E: 12, k: 28 }, labelShape: rows },
    { loss: { kind: 'sigmoid-bce' }, labelShape: [...rows, 2] },
    { loss: { kind: 'mse', huber: 4096 }, labelShape: [...rows, 2] },
    { loss: { kind: 'mse' }, labelShape: [...rows, 2] },
  ]);
}

function quantised(next: Random): Json {
  const shared = {
    lr: {
      frac: 24,
      points: [
        [0, 1 << 10],
        [2, 1 << 14],
        [6, 0],
      ],
    },
    ...(next() < 0.5 && { clip: 1500 }),
    ...(next() < 0.5 && { decay: 655 }),
  };
  if (next() < 0.6) return { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], ...shared };
  return { kind: 'sgd', ...(next() < 0.7 && { momentum: [13, 7] }), ...shared };
}

const setters: readonly ((net: Json, next: Random) => Json)[] = [
  (net, next) => ({ ...net, a: whole(next, 0, 16) }),
  (net, next) => ({ ...net, g: whole(next, 1, 20) }),
  (net, next) => ({ ...net, wint: whole(next, 0, 16) }),
  (net, next) => (isExact(net) ? net : { ...net, w: whole(next, 4, 48) }),
  (net, next) => (isExact(net) ? net : { ...net, c: whole(next, 0, 30) }),
  (net, next) => ('tokens' in (net.input as Json) ? net : within(net, 'input', { frac: whole(next, 0, 24) })),
  ...Array.from({ length: 6 }, () => inLayer),
  ...Array.from({ length: 4 }, () => inOptimizer),
  (net, next) => {
    const kind = (net.loss as Json).kind;
    if (kind === 'softmax-ce') return within(net, 'loss', { E: whole(next, 1, 15), k: whole(next, 20, 50) });
    return kind === 'mse' && next() < 0.5 ? within(net, 'loss', { huber: power(next, 31) }) : net;
  },
];

/** The same net with one member, or two, somewhere else in their ranges. */
export function proposal(net: Json, next: Random): Json {
  const changed = one(next, setters)(net, next);
  return next() < 0.3 ? one(next, setters)(changed, next) : changed;
}

function inLayer(net: Json, next: Random): Json {
  const layers = net.layers as readonly Json[];
  const at = whole(next, 0, layers.length - 1);
  const layer = layers[at]!;
  const changes: readonly Json[] = [
    { a: whole(next, 0, 24) },
    { g: whole(next, 1, 20) },
    { wint: whole(next, 0, 16) },
    ...(layer.op === 'dense' ? [{ scale: whole(next, -32, 32), bias: false }] : []),
    ...(layer.op === 'relu' ? [{ abits: whole(next, 1, 15) }] : []),
    ...(layer.op === 'attention' ? [{ E: whole(next, 1, 15), k: whole(next, 20, 50) }] : []),
    ...(String(layer.op).endsWith('norm') ? [{ eps: power(next, 40) }, { eps: 1 }] : []),
  ];
  const changed = { ...layer, ...one(next, changes) };
  return { ...net, layers: layers.map((other, i) => (i === at ? changed : other)) };
}

function inOptimizer(net: Json, next: Random): Json {
  const factor = (): readonly number[] => {
    const q = whole(next, 0, 30);
    return [next() < 0.5 ? 2 ** q : power(next, q), q];
  };
  const { kind, lr } = net.optimizer as {
    readonly kind: string;
    readonly lr: { readonly points: readonly number[][] };
  };
  if (kind === 'sgd-exact') {
    const q = next() < 0.5 ? {} : { q: whole(next, 1, 16) };
    return { ...net, optimizer: { kind, e: whole(next, 0, 40), m: [[0, whole(next, 1, 255)]], ...q } };
  }
  const top = power(next, 53);
  const shared: readonly Json[] = [
    { gq: whole(next, 0, 40) },
    { hbits: whole(next, 2, 40) },
    { clip: power(next, 36) },
    { decay: power(next, 32) },
    { lr: { ...lr, frac: whole(next, 0, 64) } },
    { lr: { ...lr, points: lr.points.map(([step], i) => [step, i === 1 ? top : whole(next, 0, top)]) } },
  ];
  const own: readonly Json[] =
    kind === 'sgd'
      ? [{ momentum: factor() }]
      : [
          ...[{ beta1: factor() }, { beta2: factor() }, { c1: whole(next, 0, 40) }, { c2: 2 * whole(next, 0, 20) }],
          ...[{ u: whole(next, 0, 40) }, { eps: power(next, 53) }],
        ];
  return within(net, 'optimizer', one(next, [...shared, ...own]));
}

function within(net: Json, name: string, members: Json): Json {
  return { ...net, [name]: { ...(net[name] as Json), ...members } };
}

function isExact(net: Json): boolean {
  return (net.optimizer as Json).kind === 'sgd-exact';
}
