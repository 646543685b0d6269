/** The engine of this process, held before every chunk of training. */
import { Engine, type TrainRequest } from '../../enclave/src/engine/engine.js';

/**
 * @param pass  is waited for before training goes on from a step: the first of a run or of one of its chunks
 * @returns what takes the gate away
 */
export function gateEngine(pass: (step: number) => Promise<void> | void): () => void {
  const { train } = Engine.prototype;
  Object.assign(Engine.prototype, {
    async train(this: Engine, request: TrainRequest) {
      const { fromStep, stepCount, chunkSteps, onChunk } = request;
      // The self-test asks for chunks of its own size, before there is any job.
      if (chunkSteps !== undefined) return train.call(this, request);
      await pass(fromStep);
      return train.call(this, {
        ...request,
        async onChunk(progress) {
          await onChunk?.(progress);
          if (progress.step < fromStep + stepCount) await pass(progress.step);
        },
      });
    },
  });
  return () => void Object.assign(Engine.prototype, { train });
}

interface HeldEngine {
  /** Fulfilled when training has come to the step, and waits. */
  readonly reached: Promise<void>;
  open(): void;
  remove(): void;
}

/** Training waits at a step, a multiple of 100 or of a segment, until the gate is opened. */
export function holdEngine(at: number): HeldEngine {
  let reach: () => void = () => undefined;
  let open: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  const remove = gateEngine((step) => {
    if (step < at) return;
    reach();
    return opened;
  });
  return { reached, open, remove };
}
