/** Engine with worker threads over the same memory (Node). The calling thread takes part in every run. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createEngine, createParts, type Engine, type EngineOptions } from './engine.js';
import { runTask, type Task } from './kernels.js';
import { DONE, drain, END, FAILED, handIn, RING_BYTES, SLOTS } from './ring.js';
import { cutTask, SPREAD_BYTES, spreadKernels } from './spread.js';
import type { WorkerStart } from './worker.js';

interface PoolOptions extends EngineOptions {
  /** Threads in all, the calling one included; 1 … 16. */
  readonly threads: number;
}

/**
 * Starts threads - 1 workers and returns when they are ready. With threads = 1 there is no worker.
 *
 * @throws ConfigurationError ZK_MEMORY_EXCEEDED
 * @throws RangeError when `threads` is not 1 … 16
 */
export async function createPool(options: PoolOptions): Promise<Engine> {
  if (!Number.isInteger(options.threads) || options.threads < 1 || options.threads > 16) {
    throw new RangeError('threads must be 1 … 16');
  }
  if (options.threads === 1) return createEngine(options);
  const { module, memory, kernels, rowLogMax, roots } = createParts(options);
  const ringAt = memory.allocate(RING_BYTES);
  const ring = memory.integers(ringAt, RING_BYTES / 4);
  const work = memory.allocate(SPREAD_BYTES);
  const workers: Worker[] = [];
  for (let i = 1; i < options.threads; i++) {
    const privateMemory = memory.allocate(kernels.privateBytes(rowLogMax));
    const workerData: WorkerStart = { module, memory: memory.wasm, privateMemory, ringAt, ringBytes: RING_BYTES };
    workers.push(startWorker(workerData));
  }
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  workers.forEach((worker) => worker.unref());

  const runBatch = (tasks: readonly Task[]): void => {
    handIn(ring, tasks);
    drain(ring, kernels);
    const end = Atomics.load(ring, END);
    for (let done = Atomics.load(ring, DONE); done !== end; done = Atomics.load(ring, DONE)) {
      Atomics.wait(ring, DONE, done);
    }
    if (Atomics.load(ring, FAILED) !== 0) throw new Error('a kernel trapped: an argument lies outside the memory');
  };
  const { threads } = options;
  const run = (tasks: readonly Task[]): void => {
    const list = tasks.length === 1 ? cutTask(threads, tasks[0]!) : tasks;
    if (list.length === 1) runTask(kernels, list[0]!);
    else for (let i = 0; i < list.length; i += SLOTS) runBatch(list.slice(i, i + SLOTS));
  };
  return {
    memory,
    kernels: spreadKernels({ kernels, memory, threads, run, work }),
    rowLogMax,
    roots,
    threads,
    run,
    close: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function startWorker(workerData: WorkerStart): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const url = new URL(fromSource ? './worker.ts' : './worker.js', import.meta.url);
  const execArgv = fromSource ? ['--conditions=source', '--import', '@oxc-node/core/register'] : [];
  return new Worker(url, { workerData, execArgv });
}
