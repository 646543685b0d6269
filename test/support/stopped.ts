/** Processes that are stopped while something is done, and go on whatever comes of it. */
export async function whileStopped<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
}
