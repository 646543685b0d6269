/** Worker of the pool: instantiates the kernels over the shared memory and serves the task ring until terminated. */
import { parentPort, workerData } from 'node:worker_threads';
import { instantiateKernels, type Offset } from './kernels.js';
import { drain, END } from './ring.js';
import type { WasmMemory, WasmModule } from './wasm.js';

export interface WorkerStart {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
  readonly privateMemory: Offset;
  readonly ringAt: Offset;
  readonly ringBytes: number;
}

function serve(start: WorkerStart): never {
  const kernels = instantiateKernels(start.module, start.memory);
  kernels.start(start.privateMemory);
  const ring = new Int32Array(start.memory.buffer, start.ringAt, start.ringBytes / 4);
  parentPort!.postMessage('ready');
  for (;;) {
    const end = Atomics.load(ring, END);
    drain(ring, kernels);
    Atomics.wait(ring, END, end);
  }
}

serve(workerData as WorkerStart);
