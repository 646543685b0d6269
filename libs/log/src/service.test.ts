/** What a log takes by its clock. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makePublicEntry, noteKeyText, parseTrustPolicy } from '#attestation/log';
import { logKeyOf } from '#test/log-keys';
import { issuerOf } from '#test/log-site';
import { openLogDatabase } from './database.js';
import { LogService } from './service.js';
import { createFileStore } from './store/files.js';

it('refuses an entry for its age only where it does not have it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-service-'));
  const database = await openLogDatabase({ directory: join(folder, 'database') });
  const issuer = issuerOf('owner.example');
  const { key, sign } = logKeyOf('log.example/test/2026');
  const time = { now: 1_800_000_000 };
  const service = new LogService({
    ...{ database, store: createFileStore(join(folder, 'tiles')), key, sign },
    ...{ issuers: [issuer], intervalMs: 200, now: () => time.now, onFailure: () => undefined },
    policy: parseTrustPolicy(`log ${noteKeyText(key)}\nquorum none\n`),
  });
  const madeAt = (at: number): Promise<Uint8Array> =>
    makePublicEntry(
      issuer,
      'policy',
      { id: 'test', digest: new Uint8Array(32), document: null, signers: [], validFrom: 0 },
      at,
    );
  const entry = await madeAt(time.now);
  const taken = await service.submit(entry);
  time.now += 8 * 86_400;
  expect(taken.isNew).toBe(true);
  expect(await service.submit(entry)).toEqual({ leaf: taken.leaf, isNew: false });
  await expect(madeAt(time.now - 8 * 86_400 - 1).then((other) => service.submit(other))).rejects.toThrow(
    /LOG_ENTRY_TIME/,
  );
  const rows = await database.query<{ count: number }>('SELECT count(*)::int AS count FROM log_pending');
  expect(rows).toEqual([{ count: 1 }]);
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});
