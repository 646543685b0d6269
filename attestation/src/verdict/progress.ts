/** How far a long judgement is; whoever shows it may pause it, and stops it by throwing. */

/** @param of sessions and segments, each as often as it is looked at */
export type Progress = (done: number, of: number) => Promise<void>;

/** Called after every piece of work. */
export type Tick = () => Promise<void>;

export function ticker(of: number, progress: Progress | undefined): Tick {
  let done = 0;
  return async () => {
    done = Math.min(of, done + 1);
    await progress?.(done, of);
  };
}
