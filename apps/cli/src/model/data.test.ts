import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkMeant, openData } from './data.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-data-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('says how JSON lines are read as text, where an option for text is given', async () => {
  const path = join(folder, 'notes.jsonl');
  writeFileSync(path, '{"body":"a b"}\n');
  const options = { tokens: '64' };
  const source = await openData(path, options);
  expect(() => checkMeant(source, options)).toThrow(
    expect.objectContaining({
      detail: expect.objectContaining({
        action: expect.stringMatching(/--task language.*--text-field/) as unknown,
      }) as unknown,
    }),
  );
});
