/** Every status of tlog-witness, by crafted requests; 50 at once never roll back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { afterAll, describe, expect, it } from 'vitest';
import { toBase64, toHex, utf8 } from '#attestation/base';
import { cosignedAt, isSignedBy, leafHash, parseCheckpoint, treeRoot } from '#attestation/log';
import { createLogger } from '#libs/telemetry';
import { logKeyOf } from '#test/log-keys';
import { consistencyPathOf } from '#test/log-tree';
import { createWitnessServer } from './server.js';
import { Witness } from './witness.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-witness-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = 1_790_000_000;
let count = 0;
function newWitness(state = join(folder, `state-${count++}`)) {
  const own = logKeyOf('witness.example/w', 'witness');
  const witness = new Witness({ ...own, logs: [log.key, twin.key], state, now: () => at });
  return { witness, state, key: own.key };
}

const log = logKeyOf('log.example/2026');
/** A second key of the same log. */
const twin = logKeyOf(log.key.name, 'log', 'another key');
const leaves = Array.from({ length: 40 }, (_, index) => leafHash(utf8(`${index}`)));
const rootOf = (size: number): Uint8Array => treeRoot(leaves.slice(0, size));
const note = (size: number): string => log.note(size, rootOf(size));
const request = (old: number, size: number, path = old === 0 ? [] : consistencyPathOf(leaves.slice(0, size), old)) =>
  [`old ${old}`, ...path.map(toBase64), '', note(size)].join('\n');

describe('a witness', () => {
  it('signs what goes on from what it signed, and keeps it', async () => {
    const { witness, key, state } = newWitness();
    for (const [old, size] of [
      [0, 5],
      [5, 5],
      [5, 8],
      [8, 40],
    ] as const) {
      const { status, body } = await witness.addCheckpoint(request(old, size));
      expect([old, size, status]).toEqual([old, size, 200]);
      expect(cosignedAt(parseCheckpoint(note(size) + body), key)).toBe(at);
    }
    const again = newWitness(state).witness;
    const kept = parseCheckpoint((await again.latest(toHex(sha256(utf8(log.key.name)))))!);
    expect([kept.size, isSignedBy(kept.note, log.key), cosignedAt(kept, key)]).toEqual([40, true, at]);
    expect(await again.latest('00'.repeat(32))).toBeNull();
  });

  it('keeps no signature that nobody verified', async () => {
    const { witness } = newWitness();
    const padded = `${request(0, 5)}— stranger.example AAAAAAAAAAA=\n`;
    expect((await witness.addCheckpoint(padded)).status).toBe(200);
    const kept = (await witness.latest(toHex(sha256(utf8(log.key.name)))))!;
    expect(kept).not.toContain('stranger');
    expect(parseCheckpoint(kept).note.signatures).toHaveLength(2);
  });

  const stranger = logKeyOf('other.example/log');
  /** Of the log's key by its line, not by its signature. */
  const forged = (size: number): string => {
    const [head, line] = [note(size), logKeyOf(log.key.name, 'log', 'not the key').note(size, rootOf(size))];
    const [id, signature] = [head, line].map((text) => Buffer.from(text.trimEnd().split(' ').at(-1)!, 'base64'));
    return `— ${log.key.name} ${Buffer.concat([id!.subarray(0, 4), signature!.subarray(4)]).toString('base64')}\n`;
  };
  it.each([
    [400, 'no old size', note(8)],
    [400, 'an old size with a zero before', request(5, 8).replace('old 5', 'old 05')],
    [400, 'an old size above the new', request(9, 8, [])],
    [
      400,
      '64 hashes',
      request(
        5,
        8,
        Array.from({ length: 64 }, () => leaves[0]!),
      ),
    ],
    [400, 'a short hash', request(5, 8, [new Uint8Array(31)])],
    [400, 'no checkpoint', 'old 5\n\n'],
    [404, 'a log that it does not watch', `old 0\n\n${stranger.note(1, leaves[0]!)}`],
    [403, 'no signature of the log', `old 5\n\n${note(8).replace(/— .*\n$/, '— x.example AAAAAAAAAAA=\n')}`],
    [403, 'a signature that does not hold', `old 5\n\n${note(8).replace(`\n${8}\n`, '\n9\n')}`],
    [409, 'an old size that is not the last', request(4, 8)],
    [409, 'an old size of zero later on', request(0, 8)],
    [422, 'a path that does not fit', request(5, 8, [leaves[1]!])],
    [422, 'no path', request(5, 8, [])],
    [422, 'the same size with another root', `old 5\n\n${log.note(5, leaves[0]!)}`],
    [422, 'a path between equal sizes', request(5, 5, [leaves[1]!])],
  ] as const)('answers %i to %s', async (status, _what, body) => {
    const { witness } = newWitness();
    await witness.addCheckpoint(request(0, 5));
    const answer = await witness.addCheckpoint(body);
    expect(answer.status).toBe(status);
    if (status === 409) expect(answer).toMatchObject({ body: '5\n', type: 'text/x.tlog.size' });
    expect((await witness.addCheckpoint(request(5, 8))).status).toBe(200);
  });

  it('takes no path and no root but that of nothing where it signed nothing', async () => {
    const { witness } = newWitness();
    expect((await witness.addCheckpoint(request(0, 8, [leaves[1]!]))).status).toBe(422);
    expect((await witness.addCheckpoint(`old 0\n\n${log.note(0, leaves[0]!)}`)).status).toBe(422);
    expect((await witness.addCheckpoint(`old 0\n\n${log.note(0, treeRoot([]))}`)).status).toBe(200);
    expect((await witness.addCheckpoint(request(0, 8))).status).toBe(200);
  });

  it('does not sign for a forger, nor for a line of the log that does not hold beside one that does', async () => {
    const { witness } = newWitness();
    const text = parseCheckpoint(note(8)).note.text;
    const bent = forged(8);
    expect((await witness.addCheckpoint(`old 0\n\n${text}\n${bent}`)).status).toBe(403);
    expect((await witness.addCheckpoint(`old 0\n\n${note(8)}${bent}`)).status).toBe(403);
    const both = note(8) + twin.note(8, rootOf(8)).slice(text.length + 1);
    expect((await witness.addCheckpoint(`old 0\n\n${both}`)).status).toBe(200);
  });

  it('answers one of 50 at once, and goes back for none', async () => {
    const { witness } = newWitness();
    await witness.addCheckpoint(request(0, 5));
    const sizes = Array.from({ length: 50 }, (_, index) => 6 + (index % 34));
    const answers = await Promise.all(sizes.map((size) => witness.addCheckpoint(request(5, size))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(49);
    const kept = parseCheckpoint((await witness.latest(toHex(sha256(utf8(log.key.name)))))!);
    expect(kept.size).toBe(6);
  });
});

describe('its server', () => {
  it('has the routes of tlog-witness and refuses what is too long', async () => {
    const { witness } = newWitness();
    const server = createWitnessServer(witness, createLogger('witness', 'silent'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    try {
      const post = (body: string) => fetch(`${url}/add-checkpoint`, { method: 'POST', body });
      expect((await fetch(`${url}/${toHex(sha256(utf8(log.key.name)))}/checkpoint`)).status).toBe(404);
      expect((await post(request(0, 5))).status).toBe(200);
      expect((await fetch(`${url}/${toHex(sha256(utf8(log.key.name)))}/checkpoint`)).status).toBe(200);
      const conflict = await post(request(0, 8));
      expect([conflict.status, conflict.headers.get('content-type')]).toEqual([409, 'text/x.tlog.size']);
      expect((await post('x'.repeat(100_000))).status).toBe(413);
      expect((await fetch(`${url}/add-checkpoint`)).status).toBe(405);
      expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
