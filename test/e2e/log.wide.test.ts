/** A log that is killed, one without its witness, and one whose database is restored from a backup. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseLogProof } from '#attestation/log';
import { releaseEntry, startLogSite } from '#test/log-processes';

let site: Awaited<ReturnType<typeof startLogSite>>;
beforeAll(async () => {
  site = await startLogSite();
});
afterAll(() => site.stop());

describe('when something dies', () => {
  it('a log that is killed amid entries goes on with all that it took', async () => {
    const entries = await Promise.all([6, 7, 8, 9].map(async (seed) => await releaseEntry(seed)));
    const submitted = entries.map((entry) => site.submit(entry));
    await site.kill('log');
    await site.start('log');
    const outcomes = await Promise.allSettled(submitted);
    const again = await Promise.all(entries.map((entry) => site.submit(entry)));
    expect(new Set(again.map(({ index }) => index)).size).toBe(4);
    outcomes.forEach((outcome, at) => {
      if (outcome.status === 'fulfilled') expect(outcome.value.index).toBe(again[at]!.index);
    });
  });

  it('without its witness it integrates, and gives no proof that a quorum saw', async () => {
    await site.kill('witness');
    const entry = await releaseEntry(10);
    const proof = await site.submit(entry, 'integrated');
    expect(proof.trusted.witnessedAt).toBeNull();
    await site.start('witness');
    expect((await site.submit(entry)).trusted.witnessedAt).not.toBeNull();
  });

  it('a database from before does not start, and is mended from the tiles', async () => {
    await site.stopOne('log');
    cpSync(join(site.folder, 'database'), join(site.folder, 'backup'), { recursive: true });
    const checkpoint = join(site.folder, 'tiles', 'checkpoint');
    const older = readFileSync(checkpoint);
    await site.start('log');
    const entry = await releaseEntry(11);
    const before = await site.submit(entry);
    await site.stopOne('log');
    rmSync(join(site.folder, 'database'), { recursive: true });
    cpSync(join(site.folder, 'backup'), join(site.folder, 'database'), { recursive: true });
    await expect(site.start('log')).rejects.toThrow(/LOG_BEHIND/);
    const newest = readFileSync(checkpoint);
    // Where the files were restored as well the witness remembers.
    writeFileSync(checkpoint, older);
    await expect(site.start('log')).rejects.toThrow(/LOG_BEHIND/);
    rmSync(checkpoint);
    await expect(site.start('log')).rejects.toThrow(/LOG_BEHIND/);
    writeFileSync(checkpoint, newest);
    const recovering = await site.start('log', ['--recover']);
    expect(await recovering.exited).toBe(0);
    await site.start('log');
    expect((await site.submit(entry)).index).toBe(before.index);
    const more = await site.submit(await releaseEntry(12));
    expect(more.index).toBe(before.index + 1);
    expect(parseLogProof(more.text).checkpoint.size).toBe(before.index + 2);
  });
});
