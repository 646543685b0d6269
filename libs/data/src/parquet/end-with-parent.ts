/** Ends a process whose parent is gone, busy or not: a file can keep a reader of Parquet at work without end. */
import { Worker } from 'node:worker_threads';

/** In a thread of its own, which looks every second. */
const watch = `
  const { workerData } = require('node:worker_threads');
  setInterval(() => process.ppid === workerData || process.kill(process.pid, 'SIGKILL'), 1_000);
`;

export function endWithParent(): void {
  new Worker(watch, { eval: true, execArgv: [], workerData: process.ppid }).unref();
}
