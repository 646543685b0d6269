/** Kernels whose single calls are long enough to be cut over all threads; same arguments and results as in Kernels. */
import type { Kernels, Offset, Task } from './kernels.js';
import type { Memory } from './memory.js';

/** Fewer multiplications than this stay on the calling thread: waking a worker costs about as much. */
const WORTHWHILE = 2 ** 13;
/** Pieces of a nonce search per thread and round: the search ends with the round that finds one. */
const GRIND_PIECES = 2;
const MAX_THREADS = 16;
const EQ_VARIABLES = 5;

/** Bytes of memory that the spread kernels use for results of pieces. */
export const SPREAD_BYTES = Math.max(16 * 2 ** EQ_VARIABLES, 4 * GRIND_PIECES * MAX_THREADS);

interface Spread {
  readonly kernels: Kernels;
  readonly memory: Memory;
  readonly threads: number;
  readonly run: (tasks: readonly Task[]) => void;
  /** SPREAD_BYTES of memory. */
  readonly work: Offset;
}

export function spreadKernels(spread: Spread): Kernels {
  return {
    ...spread.kernels,
    grind: (...args) => grind(spread, ...args),
    eqTableExt: (...args) => eqTableExt(spread, ...args),
    outerExt: (...args) => outerExt(spread, ...args),
    bindBase: (...args) => spread.run(cutBind(spread.threads, args)),
  };
}

/** The pieces of a task that was handed in alone. */
export function cutTask(threads: number, task: Task): Task[] {
  const [name, ...args] = task;
  return name === 'bindBase' ? cutBind(threads, args as Parameters<Kernels['bindBase']>) : [task];
}

/** Even pieces of [begin, end), an even number of items each. */
function pieces(threads: number, begin: number, end: number): [begin: number, end: number][] {
  const size = 2 * Math.ceil((end - begin) / (8 * threads));
  const list: [number, number][] = [];
  for (let at = begin; at < end; at += size) list.push([at, Math.min(at + size, end)]);
  return list;
}

function cutBind(threads: number, args: Parameters<Kernels['bindBase']>): Task[] {
  const [source, outerBegin, outerEnd, middle, inner, innerBegin, innerEnd, v, out] = args;
  const [rows, columns] = [outerEnd - outerBegin, innerEnd - innerBegin];
  if (rows * columns * middle < WORTHWHILE) return [['bindBase', ...args]];
  if (rows >= columns) {
    return pieces(threads, outerBegin, outerEnd).map(([begin, end]) => {
      return ['bindBase', source, begin, end, middle, inner, innerBegin, innerEnd, v, out];
    });
  }
  return pieces(threads, innerBegin, innerEnd).map(([begin, end]) => {
    return ['bindBase', source, outerBegin, outerEnd, middle, inner, begin, end, v, out];
  });
}

function outerExt({ kernels, threads, run }: Spread, ...args: Parameters<Kernels['outerExt']>): void {
  const [a, begin, end, b, count, out] = args;
  if ((end - begin) * count < WORTHWHILE) return kernels.outerExt(...args);
  run(pieces(threads, begin, end).map(([from, to]): Task => ['outerExt', a, from, to, b, count, out]));
}

/** The first variables give one scale for each piece. */
function eqTableExt({ kernels, run, work }: Spread, ...args: Parameters<Kernels['eqTableExt']>): void {
  const [point, variables, scale, out] = args;
  if (2 ** variables < WORTHWHILE) return kernels.eqTableExt(...args);
  kernels.eqTableExt(point, EQ_VARIABLES, scale, work);
  const rest = variables - EQ_VARIABLES;
  run(
    Array.from({ length: 2 ** EQ_VARIABLES }, (_, i): Task => {
      return ['eqTableExt', point + 16 * EQ_VARIABLES, rest, work + 16 * i, out + 16 * i * 2 ** rest];
    }),
  );
}

/** Pieces are a sixteenth of the expected search, so that little is tried beyond the hit. */
function grind({ memory, threads, run, work }: Spread, ...args: Parameters<Kernels['grind']>): void {
  const [seed, begin, end, bits, out] = args;
  const nonces = Math.min(4_096, Math.max(256, 2 ** (bits - 4)));
  const round = Array.from({ length: GRIND_PIECES * threads }, (_, i) => i * nonces);
  for (let first = begin; first < end; first += round.length * nonces) {
    const starts = round.map((offset) => first + offset).filter((start) => start < end);
    const stops = starts.map((start) => Math.min(start + nonces, end));
    run(starts.map((start, i): Task => ['grind', seed, start, stops[i]!, bits, work + 4 * i]));
    const found = memory.integers(work, starts.length);
    const hit = stops.findIndex((stop, i) => found[i]! >>> 0 !== stop);
    if (hit === -1) continue;
    memory.integers(out, 1)[0] = found[hit]!;
    return;
  }
  memory.integers(out, 1)[0] = end;
}
