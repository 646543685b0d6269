/** Starts the followers of followers-main.ts. */
import type { ChildProcess } from 'node:child_process';
import { nodeCommand, startProcess } from '#libs/process';

export const operationsPerSocket = 32;
export const socketsPerAddress = 64;
/** The step of whose progress every follower is to hear. */
export const followedStep = 3;

export interface Followers {
  /** Each has had its first event. */
  readonly opened: Promise<unknown>;
  /** Each has had the progress of `followedStep`. */
  readonly heard: Promise<unknown>;
  /** Closes their connections. */
  leave(): void;
}

/** @param from  last byte of the first loopback address that they dial from */
export function startFollowers(port: number, key: string, jobId: string, count: number, from = 2): Followers {
  const command = nodeCommand('./followers-main', import.meta.url, [port, key, jobId, count, from].map(String));
  const { child } = startProcess(command, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  const [opened, heard] = (['opened', 'heard'] as const).map((what) => said(child, what));
  return { opened: opened!, heard: heard!, leave: () => void (child.connected && child.disconnect()) };
}

/** @throws Error when they fail or end before they say it */
function said(child: ChildProcess, what: 'opened' | 'heard'): Promise<unknown> {
  const promise = new Promise((resolve, reject) => {
    child.on('message', (message: Record<string, unknown>) => {
      if (message[what] !== undefined) resolve(message[what]);
      if (message['failed'] !== undefined) reject(new Error(String(message['failed'])));
    });
    child.once('exit', (code) => reject(new Error(`the followers ended with ${code}`)));
  });
  promise.catch(() => undefined);
  return promise;
}
