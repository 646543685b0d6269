/**
 * Kernels with their memory, and the way to run independent calls. One thread here; pool.ts adds workers.
 *
 * Memory rules: the engine's own area (constants, private memory of each thread, root table, task ring) lies at the
 * bottom and is never released. Everything else belongs to the caller, who marks and releases.
 */
import { compileKernels, instantiateKernels, runTask, type Kernels, type Offset, type Task } from './kernels.js';
import { Memory } from './memory.js';
import type { WasmModule } from './wasm.js';

export interface EngineOptions {
  /** Most bytes of linear memory; default 2 GiB. */
  readonly memoryBytesMax?: number;
  /** Longest row that will be encoded has 2^rowLogMax coefficients; default 16. */
  readonly rowLogMax?: number;
}

export interface Engine {
  readonly memory: Memory;
  /** Callable at once; a pool spreads the long ones over its threads. */
  readonly kernels: Kernels;
  readonly threads: number;
  readonly rowLogMax: number;
  /** rootTable(rowLogMax). */
  readonly roots: Offset;
  /** Runs independent calls, in any order and on any thread; returns when all are done. */
  run(tasks: readonly Task[]): void;
  /** Stops the workers. */
  close(): Promise<void>;
}

interface EngineParts {
  readonly module: WasmModule;
  readonly memory: Memory;
  readonly kernels: Kernels;
  readonly rowLogMax: number;
  readonly roots: Offset;
}

/** Memory, one started instance, root table. */
export function createParts(options: EngineOptions): EngineParts {
  const memory = new Memory(options.memoryBytesMax ?? 2 ** 31);
  const rowLogMax = options.rowLogMax ?? 16;
  const module = compileKernels();
  const kernels = instantiateKernels(module, memory.wasm);
  memory.allocate(kernels.heapBase.value);
  kernels.start(memory.allocate(kernels.privateBytes(rowLogMax)));
  const roots = memory.allocate(8 * 2 ** (rowLogMax - 1));
  kernels.rootTable(rowLogMax, roots);
  return { module, memory, kernels, rowLogMax, roots };
}

/** @throws ConfigurationError ZK_MEMORY_EXCEEDED */
export function createEngine(options: EngineOptions = {}): Engine {
  const { memory, kernels, rowLogMax, roots } = createParts(options);
  return {
    memory,
    kernels,
    rowLogMax,
    roots,
    threads: 1,
    run: (tasks) => tasks.forEach((task) => runTask(kernels, task)),
    close: () => Promise.resolve(),
  };
}
