/** Witnesses that are slow, one that never answers, and ones that keep what is not this log's. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { utf8 } from '#attestation/base';
import { cosign, leafHash, noteKeyText, parseCheckpoint, parseTrustPolicy } from '#attestation/log';
import { logKeyOf } from '#test/log-keys';
import { TileReader } from './tiles/reader.js';
import { Witnesses } from './witnesses.js';

const log = logKeyOf('log.example/slow/2026');
const own = logKeyOf('witness.example/w', 'witness');
const noteOf = (entry: string): string => log.note(1, leafHash(utf8(entry)));
const noTiles = new TileReader(() => Promise.resolve(null), 1);

/** @param answersAfterMs  null: never */
async function startWitness(answersAfterMs: number | null) {
  const server = createServer((request, response) => {
    if (answersAfterMs === null) return;
    void text(request).then(async (body) => {
      const shown = parseCheckpoint(body.slice(body.indexOf('\n\n') + 2));
      await sleep(answersAfterMs);
      response.end(cosign(shown, own.key, Math.floor(Date.now() / 1000), own.sign));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    policy: parseTrustPolicy(
      `log ${noteKeyText(log.key)}\nwitness w ${noteKeyText(own.key)} http://127.0.0.1:${port}\nquorum w\n`,
    ),
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Shows the checkpoint again and again, as rounds do, until `isEnough` or `withinMs` is over. */
async function showUntil(
  witnesses: Witnesses,
  note: string,
  withinMs: number,
  isEnough: (heard: { readonly lines: string[]; readonly failures: string[] }) => boolean,
) {
  const heard = { lines: [] as string[], failures: [] as string[] };
  const until = performance.now() + withinMs;
  while (!isEnough(heard) && performance.now() < until) {
    witnesses.show(note, noTiles, {
      onLine: (line) => Promise.resolve(void heard.lines.push(line)),
      onFailure: (_witness, why) => void heard.failures.push(why),
    });
    await sleep(50);
  }
  return heard;
}

// Where the log gave each answer the same two seconds, one that took longer was never heard: entries had no proof.
it.concurrent(
  'waits longer for a witness that did not answer in time, until it has its word',
  async () => {
    const { policy, stop } = await startWitness(2300);
    const witnesses = new Witnesses(policy);
    const hasLine = ({ lines }: { readonly lines: readonly string[] }): boolean => lines.length > 0;
    const { lines, failures } = await showUntil(witnesses, noteOf('one'), 30_000, hasLine);
    expect(lines).toHaveLength(1);
    expect(failures[0]).toContain('within 2000 ms');
    const next = await showUntil(witnesses, noteOf('another'), 30_000, hasLine);
    expect(next).toEqual({ lines: [expect.any(String)], failures: [] });
    await stop();
  },
  60_000,
);

it.concurrent(
  'ends within seconds though a witness never answers',
  async () => {
    const { policy, stop } = await startWitness(null);
    const witnesses = new Witnesses(policy);
    const heard = await showUntil(witnesses, noteOf('one'), 30_000, ({ failures }) => failures.length > 0);
    // It is asked again two seconds later, and then given four.
    await showUntil(witnesses, noteOf('one'), 2500, () => false);
    const began = performance.now();
    await witnesses.settled();
    expect(performance.now() - began).toBeLessThan(3500);
    expect(heard.failures[0]).toContain('within 2000 ms');
    await stop();
  },
  60_000,
);

it.concurrent('leaves out a witness that shows what this log did not sign, and tells of it', async () => {
  const forged = logKeyOf('log.example/other/2026');
  const renamed = forged.note(9, leafHash(utf8('x'))).replaceAll('log.example/other/2026', log.key.name);
  for (const shown of ['nonsense', renamed, forged.note(9, leafHash(utf8('x')))]) {
    const server = createServer((_request, response) => void response.end(shown));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const policy = `witness w ${noteKeyText(own.key)} http://127.0.0.1:${port}\nquorum w\n`;
    const told: string[] = [];
    const witnesses = new Witnesses(parseTrustPolicy(`log ${noteKeyText(log.key)}\n${policy}`));
    expect(await witnesses.latest(log.key, (witness) => void told.push(witness))).toEqual([]);
    expect(told).toEqual(['w']);
    server.close();
  }
});
