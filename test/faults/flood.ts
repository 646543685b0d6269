/**
 * Strangers at the key broker's port, with an address of their own and no key: they take challenges of a job as fast as
 * they are given any, and ask for decisions that nobody can give.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const strangers = 12;
const localAddress = '127.0.0.2';
/** Of every so many requests one is for a decision. */
const decisionEvery = 8;

/** @param site  folder of the system @returns what ends it and says how many challenges were taken */
export function floodChallenges(site: string, jobId: string): () => Promise<Readonly<Record<string, number>>> {
  const { port } = JSON.parse(readFileSync(join(site, 'broker', 'broker.json'), 'utf8')) as { port: number };
  const agent = new Agent({ keepAlive: true, maxSockets: strangers });
  const over = new AbortController();
  const counts = { taken: 0, refused: 0 };
  const ask = async (at: number): Promise<void> => {
    const isDecision = at % decisionEvery === 0;
    const path = isDecision ? '/v1/releases' : '/v1/challenges';
    const status = await post({ agent, port, path, localAddress }, JSON.stringify(isDecision ? {} : { jobId }));
    if (status === 201) counts.taken++;
    else if (status === 429) counts.refused++;
  };
  const stranger = async (): Promise<void> => {
    for (let at = 1; !over.signal.aborted; at++) await ask(at).catch(() => sleep(50));
  };
  const all = Promise.all(Array.from({ length: strangers }, stranger));
  return async () => {
    over.abort();
    await all;
    agent.destroy();
    return { 'challenges that strangers took': counts.taken, 'requests of strangers refused': counts.refused };
  };
}

function post(
  to: { readonly agent: Agent; readonly port: number; readonly path: string; readonly localAddress: string },
  body: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asked = request({ ...to, host: '127.0.0.1', method: 'POST', headers, timeout: 5000 }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
      answer.once('error', reject);
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', reject);
    asked.end(body);
  });
}
