import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startApp } from './process.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('ends with the error that the app ended with, and says whose it is', { timeout: 60_000 }, async () => {
  const started = startApp('witness', folder, { VERITRAIN_WITNESS_PORT: 'none' });
  await expect(started).rejects.toMatchObject({
    code: expect.not.stringMatching('PROCESS_START') as unknown,
    detail: { got: expect.stringMatching(/^witness: /) as unknown, action: expect.any(String) as unknown },
  });
});
