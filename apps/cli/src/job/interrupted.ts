/** Commands that wait for a job, ended by Ctrl-C: the job is not. */
import { log } from '../output.js';

const signals = ['SIGINT', 'SIGTERM'] as const;

/** Says what becomes of the job when a signal ends this process. */
export async function following<T>(words: string, act: () => Promise<T>): Promise<T> {
  const end = (signal: NodeJS.Signals): void => {
    leave();
    log(`ended by ${signal}: the job goes on; ${words}`);
    process.kill(process.pid, signal);
  };
  const leave = (): void => {
    for (const signal of signals) process.removeListener(signal, end);
  };
  for (const signal of signals) process.on(signal, end);
  try {
    return await act();
  } finally {
    leave();
  }
}
