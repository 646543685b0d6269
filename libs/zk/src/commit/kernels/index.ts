/** Door of the kernels: memory, engine and the functions over offsets. The worker pool is in pool.ts (Node). */
export { createEngine, type Engine } from './engine.js';
export { type Offset, type Task } from './kernels.js';
export { Memory, type Mark } from './memory.js';
