/** A plan says how its data is read: sealing it needs nothing else. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCommand } from '#test/run-command';
import { taken } from '../output.js';
import { createProgram } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-planned-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

async function veritrain(...args: string[]): Promise<unknown> {
  const [printed] = await taken(async () => (await createProgram(args)).parseAsync(['node', 'veritrain', ...args]));
  return printed!.result;
}

/** Every tenth row has no kind. */
const rows = Array.from(
  { length: 60 },
  (_, i) => `${i},${(i * 7) % 5},${i % 10 === 9 ? '' : i % 2 ? 'odd' : 'even'},x`,
);
writeFileSync(at('data.csv'), `size,left,kind,note\n${rows.join('\n')}\n`);

it('reads the label, what is dropped and the split from the plan', async () => {
  const asked = ['--target', 'kind', '--drop', 'note', '--validation', '20%', '--epochs', '1'];
  await veritrain('model', 'init', '--from', at('data.csv'), '--out', at('plan'), ...asked);
  const manifest = join(at('plan'), 'manifest.json');
  const sealing = ['dataset', 'seal', '--manifest', manifest, '--data', at('data.csv'), '--key', at('key.json')];
  const sealed = (await veritrain(...sealing, '--out', at('sealed'))) as {
    header: { columns: { name: string }[] };
    validation: { records: number };
    report: { dropped: number };
  };
  expect(sealed.header.columns.map(({ name }) => name)).toEqual(['size', 'left']);
  const { plan } = JSON.parse(readFileSync(join(at('plan'), 'plan.json'), 'utf8')) as {
    plan: { validationRows: number };
  };
  expect(sealed).toMatchObject({ validation: { records: plan.validationRows }, report: { dropped: 6 } });
  // What is asked for goes before the plan.
  await expect(veritrain(...sealing, '--out', at('other'), '--label', 'no')).rejects.toMatchObject({
    code: 'DATA_COLUMN_MISSING',
  });
});

it('leaves a data set that is whole and its key as they are', async () => {
  const manifest = join(at('plan'), 'manifest.json');
  const sealing = ['dataset', 'seal', '--manifest', manifest, '--data', at('data.csv'), '--key', at('whole.json')];
  await veritrain(...sealing, '--out', at('whole'));
  const key = readFileSync(at('whole.json'), 'utf8');
  // As a call leaves it that is killed behind its last shard.
  mkdirSync(at('whole.work'));
  writeFileSync(join(at('whole.work'), 'train.records'), 'in the clear');
  await expect(veritrain(...sealing, '--out', at('whole'))).rejects.toMatchObject({ code: 'SEAL_EXISTS' });
  expect(existsSync(at('whole.work'))).toBe(false);
  const idle = veritrain(
    ...sealing,
    '--out',
    at('another'),
    '--key',
    at('another.json'),
    '--proof-profile',
    'chain256',
  );
  await expect(idle).rejects.toMatchObject({ code: 'SEAL_PROFILE' });
  expect(readFileSync(at('whole.json'), 'utf8')).toBe(key);
});

it.skipIf(!existsSync('/dev/full'))('says of a full disk what to do about it', async () => {
  mkdirSync(at('full.work'));
  symlinkSync('/dev/full', join(at('full.work'), 'raw.bin'));
  const sealing = ['--manifest', join(at('plan'), 'manifest.json'), '--data', at('data.csv'), '--key', at('full.json')];
  const { json } = await runCommand('dataset', 'seal', ...sealing, '--out', at('full'));
  expect(json).toMatchObject({
    error: {
      code: 'FILE_UNWRITABLE',
      got: 'no space left (ENOSPC)',
      action: expect.stringContaining('free some space') as unknown,
    },
  });
});
