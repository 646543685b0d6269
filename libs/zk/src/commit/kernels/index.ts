/** Door of the kernels: memory, engine and the functions over offsets. The worker pool is in pool.ts (Node). */
export { createEngine, type Engine, type EngineOptions } from './engine.js';
export { type Kernels, type Offset, type Task, type TaskName } from './kernels.js';
export { Memory, type Mark } from './memory.js';
