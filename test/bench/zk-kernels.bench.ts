/**
 * Speed of the compiled kernels, one thread unless the name says otherwise, against the figures of libs/zk/SPEC.md §14.
 * Units are nanoseconds per item; each figure comes from a few short runs, and the smallest is the one to read.
 */
import type { Engine, Offset, Task } from '../../libs/zk/src/commit/kernels/index.js';
import { createPool } from '../../libs/zk/src/commit/kernels/pool.js';
import type { BenchResult } from './result.js';

const RUNS = 9;
const LOG_ROW = 13;
const LOG_BLOWUP = 3;
const ROWS = 8;
const LENGTH = 2 ** 16;

/** Runs every kernel bench: about five seconds. */
export async function run(): Promise<BenchResult[]> {
  const one = await createPool({ threads: 1 });
  const two = await createPool({ threads: 2 });
  try {
    return [
      ...fieldBenches(one),
      ...hashBenches(one),
      ...sumcheckBenches(one),
      ...stepBenches(one),
      ...[one, two].flatMap(commitBenches),
    ];
  } finally {
    await two.close();
  }
}

function measure(name: string, n: number, body: () => void): BenchResult {
  const samples = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    body();
    return ((performance.now() - start) * 1e6) / n;
  }).sort((a, b) => a - b);
  const round = (value: number): number => Number(value.toFixed(3));
  return {
    name,
    unit: 'ns',
    n,
    min: round(samples[0]!),
    median: round(samples[RUNS >> 1]!),
    max: round(samples[RUNS - 1]!),
  };
}

/** Space for `words` random-looking canonical words. */
function fill({ memory }: Engine, words: number): Offset {
  const at = memory.allocate(8 * words);
  const view = memory.words(at, words);
  let value = 0x243f6a8885a308d3n;
  for (let i = 0; i < words; i++) {
    value = (value * 0x5851f42d4c957f2dn + 0x14057b7ef767814fn) & 0xffffffffffffffffn;
    view[i] = value >= 0xffffffff00000001n ? 0n : value;
  }
  return at;
}

function fieldBenches(engine: Engine): BenchResult[] {
  const { kernels: k, memory } = engine;
  const mark = memory.mark();
  const [a, b, out] = [fill(engine, 2 * LENGTH), fill(engine, 2 * LENGTH), memory.allocate(16 * LENGTH)];
  const results = [
    measure('base multiply', 2 * LENGTH, () => k.productBase(a, b, 2 * LENGTH, out)),
    measure('extension inner product', LENGTH, () => k.dotExt(a, b, LENGTH, out)),
    measure('bind columns', LENGTH, () => k.bindBase(a, 0, 256, LENGTH / 256, 1, 0, 1, b, out)),
    measure('bind rows', LENGTH, () => k.bindBase(a, 0, 1, 64, LENGTH / 64, 0, LENGTH / 64, b, out)),
    measure('add powers', LENGTH, () => k.addPowers(a, b, LENGTH, out)),
  ];
  memory.release(mark);
  return results;
}

function hashBenches(engine: Engine): BenchResult[] {
  const { kernels: k, memory } = engine;
  const mark = memory.mark();
  const columns = 4096;
  const [symbols, out] = [fill(engine, 16 * columns), memory.allocate(32 * columns)];
  const rows = memory.placeTable(Array.from({ length: 15 }, (_, row) => symbols + 8 * columns * row));
  const parents = memory.allocate(16 * columns);
  const results = [
    // 15 symbols and the header fill one block.
    measure('keccak permutation in leaves', columns, () => k.hashLeaves(rows, 15, 0, columns, 1, 0, out)),
    measure('keccak permutation in nodes', columns / 2, () => k.hashNodes(out, 0, columns / 2, 32, parents)),
    measure('prf word', 4 * columns, () => k.prf(symbols, 64, 4 * columns, symbols)),
    measure('grinding hash', 4096, () => k.grind(symbols, 0, 4096, 60, parents)),
  ];
  memory.release(mark);
  return results;
}

function sumcheckBenches(engine: Engine): BenchResult[] {
  const { kernels: k, memory } = engine;
  const mark = memory.mark();
  const arrays = [0, 1, 2, 3].map(() => fill(engine, 2 * LENGTH));
  const [a0, a1, b0, b1] = arrays as [Offset, Offset, Offset, Offset];
  const half = LENGTH / 2;
  const [low, out, result] = [fill(engine, 2 * 256), memory.allocate(16 * LENGTH), memory.allocate(32)];
  const high = fill(engine, 2 * (half / 256));
  const blocks = half / 256;
  const results = [
    measure('eq table entry', LENGTH, () => k.eqTableExt(low, 16, high, out)),
    measure('round pair, product', half, () => k.roundExt(a0, a1, half, high, low, 8, 0, blocks, result)),
    measure('round pair, plain product', half, () => k.plainRoundExt(a0, a1, half, 0, half, result)),
    measure('round pair, fractions', half, () =>
      k.roundFractions(a0, a1, b0, b1, half, high, low, 8, 0, blocks, result),
    ),
    measure('fold pair', half, () => k.foldExt(a0, half, high, 0, half, out)),
    measure('fraction node', half, () => k.fractionLayer(a0, a1, half, 0, half, out, b1)),
    measure('fraction factors', LENGTH, () => k.fractionFactors(a0, a1, high, 0, LENGTH, out, b1)),
  ];
  memory.release(mark);
  return results;
}

/** One layer of a step, 784 inputs, 64 units, batch 64, per multiply and add. */
function stepBenches(engine: Engine): BenchResult[] {
  const { kernels: k, memory } = engine;
  const mark = memory.mark();
  const [w, x, z] = [784, 784, 64].map((rows) => memory.allocate(8 * 64 * rows)) as [Offset, Offset, Offset];
  for (const [at, rows] of [
    [w, 784],
    [x, 784],
    [z, 64],
  ] as const) {
    memory.doubles(at, 64 * rows).fill(1);
  }
  const n = 784 * 64 * 64;
  const results = [
    measure('step forward', n, () => k.sumProducts(w, 1, 64, 784, x, 64, 64, 0, 64, z, 64)),
    measure('step update', n, () => k.subtractOuter(x, 64, 0, 784, z, 64, 64, 64, 1, w, 64)),
  ];
  memory.release(mark);
  return results;
}

/** Encoding and hashing of a matrix like that of a weight commitment. */
function commitBenches(engine: Engine): BenchResult[] {
  const { memory, roots, run: runTasks, threads } = engine;
  const mark = memory.mark();
  const domain = 2 ** (LOG_ROW + LOG_BLOWUP);
  const table = (words: number, at: Offset): Offset =>
    memory.placeTable(Array.from({ length: ROWS }, (_, row) => at + 8 * words * row));
  const messages = table(2 ** LOG_ROW, fill(engine, ROWS * 2 ** LOG_ROW));
  const random = table(512, fill(engine, ROWS * 512));
  const codewords = table(domain, memory.allocate(8 * ROWS * domain));
  const leaves = memory.allocate(32 * domain);
  const encode = Array.from({ length: 2 ** (LOG_BLOWUP - 1) }, (_, i): Task => [
    ...(['encodeRows', messages, random, 512, LOG_ROW, LOG_ROW + LOG_BLOWUP] as const),
    ...([0, ROWS, 2 * i, 2, roots, codewords] as const),
  ]);
  const hash = Array.from({ length: 16 }, (_, i): Task => [
    ...(['hashLeaves', codewords, ROWS, (i * domain) / 16] as const),
    ...([((i + 1) * domain) / 16, 0x5701, 0, leaves] as const),
  ]);
  const results = [
    measure(`encode symbol, ${threads} threads`, ROWS * domain, () => runTasks(encode)),
    measure(`leaf, ${threads} threads`, domain, () => runTasks(hash)),
  ];
  memory.release(mark);
  return results;
}

export const short = run;
