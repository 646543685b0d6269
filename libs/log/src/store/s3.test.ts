/** A log whose files lie in an S3-compatible store: rounds, a backup that was restored, and a store that refuses. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import { leafHash, parseCheckpoint, treeRoot } from '#attestation/log';
import { logKeyOf } from '#test/log-keys';
import { openLogDatabase, type LogDatabase } from '../database.js';
import { openLog, sequence } from '../sequencer.js';
import { TileReader } from '../tiles/reader.js';
import { createS3Store, type S3Place } from './s3.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-s3-'));
let server: S3rver;
let place: S3Place;
let database: LogDatabase;
beforeAll(async () => {
  mkdirSync(join(folder, 's3'));
  const configureBuckets = [{ name: 'log', configs: [] }];
  server = new S3rver({ port: 0, silent: true, directory: join(folder, 's3'), configureBuckets });
  const { port } = await server.run();
  // The key pair that the test server knows.
  const keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
  place = { url: `http://127.0.0.1:${port}/log/one/2026`, region: 'us-east-1', ...keys };
  database = await openLogDatabase({ directory: join(folder, 'database') });
});
afterAll(async () => {
  await database.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('an S3-compatible store', () => {
  it('keeps what it is given, lists a folder alone and forgets what is removed', async () => {
    const store = createS3Store(place);
    expect(await store.read('tile/0/000')).toBeNull();
    expect(await store.writtenAt('tile/0/000')).toBeNull();
    await store.write('tile/0/000.p/1', utf8('one'));
    await store.write('tile/0/000.p/2', utf8('two'));
    await store.write('tile/0/000', utf8('whole'));
    expect(await store.read('tile/0/000.p/2')).toEqual(utf8('two'));
    expect([...(await store.list('tile/0/000.p'))].sort()).toEqual(['1', '2']);
    expect(await store.list('tile/0/000')).toEqual([]);
    expect((await store.writtenAt('tile/0/000'))!.getTime()).toBeGreaterThan(Date.now() - 60_000);
    for (const path of ['tile/0/000.p/1', 'tile/0/000.p/2', 'tile/0/000', 'tile/0/000']) await store.remove(path);
    expect(await store.list('tile/0/000.p')).toEqual([]);
  });

  it('holds a log', async () => {
    const parts = { database, store: createS3Store(place), ...logKeyOf('log.example/s3/2026') };
    const { key } = parts;
    await openLog(parts);
    const entries = Array.from({ length: 300 }, (_, at) => utf8(`entry ${at}`));
    for (const part of [entries.slice(0, 100), entries.slice(100)]) {
      for (const entry of part) {
        await database.query('INSERT INTO log_pending (origin, leaf, entry) VALUES ($1, $2, $3)', [
          ...[key.name, Buffer.from(leafHash(entry)), Buffer.from(entry)],
        ]);
      }
      expect(await sequence(parts)).toBe(true);
    }
    const note = parseCheckpoint(new TextDecoder().decode((await parts.store.read('checkpoint'))!));
    expect([note.size, toHex(note.root)]).toEqual([300, toHex(treeRoot(entries.map(leafHash)))]);
    const reader = new TileReader(parts.store.read, 300);
    expect(await reader.entries(1)).toEqual(entries.slice(256));
    await database.query('UPDATE log SET size = 100, published = 100 WHERE origin = $1', [key.name]);
    await expect(openLog(parts)).rejects.toThrow(/LOG_BEHIND/);
  });

  it('is told where it refuses, and where it is not there', async () => {
    const refused = createS3Store({ ...place, accessKeyId: 'nobody' });
    await expect(refused.write('checkpoint', utf8('x'))).rejects.toThrow(/LOG_STORE/);
    const elsewhere = createS3Store({ ...place, url: place.url.replace('/log/', '/missing/') });
    await expect(elsewhere.write('checkpoint', utf8('x'))).rejects.toThrow(/LOG_STORE/);
    const nobody = createS3Store({ ...place, url: 'http://127.0.0.1:9/log/x' });
    await expect(nobody.read('checkpoint')).rejects.toThrow(/LOG_STORE/);
  }, 60_000);
});
