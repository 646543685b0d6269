/** New data for a trained model: what of it is read, by which names, and what is left out. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-new-data-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const veritrain = async (...args: string[]): Promise<Record<string, unknown>> => (await runCommand(...args)).json;

async function train(data: string, ...args: string[]): Promise<void> {
  const seed = `0x${'5a'.repeat(32)}`;
  await veritrain('model', 'init', '--from', at(data), '--out', at('plan'), '--seed', seed, '--epochs', '1', ...args);
  rmSync(at('model'), { recursive: true, force: true });
  await veritrain('train', '--manifest', at('plan', 'manifest.json'), '--data', at(data), '--out', at('model'));
}

const evaluate = (data: string, ...args: string[]): Promise<Record<string, unknown>> =>
  veritrain('evaluate', '--model', at('model'), '--data', at(data), ...args);
const predict = (data: string, ...args: string[]): Promise<Record<string, unknown>> =>
  veritrain('predict', '--model', at('model'), '--data', at(data), '--out', at('answers.csv'), ...args);

describe('a table whose label is not its last column', { timeout: 60_000 }, () => {
  const rows = Array.from({ length: 60 }, (_, i) => `${3 * (i % 9) + (i % 4)},${i % 9},${i % 4}`);
  beforeAll(async () => {
    writeFileSync(at('named.csv'), `price,a,b\n${rows.join('\n')}\n`);
    writeFileSync(at('unnamed.csv'), `${rows.join('\n')}\n`);
    await train('named.csv', '--target', 'price', '--task', 'regress');
  }, 60_000);

  it('is not measured without names, for nobody can tell the label', async () => {
    expect(await evaluate('named.csv')).toMatchObject({ rows: 60, unlabelled: 0 });
    expect(await evaluate('unnamed.csv', '--no-names')).toMatchObject({
      error: {
        code: 'DATA_COLUMN_MISSING',
        expected: 'the columns a, b, price of unnamed.csv',
        action: expect.stringMatching(/^write these names as the first line/) as unknown,
      },
    });
    writeFileSync(at('features.csv'), rows.map((row) => `${row.slice(row.indexOf(',') + 1)}\n`).join(''));
    expect(await predict('features.csv', '--no-names')).toMatchObject({ rows: 60 });
  });

  it('is measured without its rows that have no label, which are counted', async () => {
    writeFileSync(
      at('some.csv'),
      `price,a,b\n${rows.map((row, i) => (i % 3 ? row : row.replace(/^\d+/, ''))).join('\n')}\n`,
    );
    expect(await evaluate('some.csv')).toMatchObject({ rows: 40, unlabelled: 20 });
    writeFileSync(at('none.csv'), `price,a,b\n${rows.map((row) => row.replace(/^\d+/, 'NA')).join('\n')}\n`);
    expect(await evaluate('none.csv')).toMatchObject({
      error: { code: 'DATA_EMPTY', got: '60 rows, all without a label' },
    });
  });
});

it('text is read from the member that the model learned from, or from plain text', { timeout: 60_000 }, async () => {
  const text = 'abcdefghij'.repeat(40);
  writeFileSync(at('docs.jsonl'), `${JSON.stringify({ id: 1, content: text })}\n`);
  writeFileSync(at('plain.txt'), text);
  await train('docs.jsonl', '--task', 'language', '--text-field', 'content', '--tokens', '8');
  const { rows } = await evaluate('docs.jsonl');
  expect(rows).toBe(50);
  expect(await evaluate('plain.txt')).toMatchObject({ rows: 49 });
  expect(await predict('docs.jsonl')).toMatchObject({ rows });
  const exported = ['model', 'export', '--model', at('model'), '--data', at('docs.jsonl'), '--out', at('exported')];
  expect(await veritrain(...exported)).toMatchObject({ check: { records: rows } });
  expect(existsSync(at('exported', 'tokenizer.json'))).toBe(true);
});

it(
  'text is read from another member than the model learned from, where the user names it',
  { timeout: 60_000 },
  async () => {
    const text = 'abcdefghij'.repeat(40);
    writeFileSync(at('plain.txt'), text);
    writeFileSync(at('body.jsonl'), `${JSON.stringify({ id: 1, body: text })}\n`);
    writeFileSync(at('table.csv'), 'body\na\n');
    await train('plain.txt', '--task', 'language', '--tokens', '8');
    const refused = {
      code: 'DATA_CELL',
      got: 'nothing',
      action: expect.stringContaining('name the member') as unknown,
    };
    expect(await evaluate('body.jsonl')).toMatchObject({ error: refused });
    const named = ['--text-field', 'body'];
    expect(await evaluate('body.jsonl', ...named)).toMatchObject({ rows: 50 });
    expect(await predict('body.jsonl', ...named)).toMatchObject({ rows: 50 });
    const exported = ['model', 'export', '--model', at('model'), '--data', at('body.jsonl'), '--out', at('other')];
    expect(await veritrain(...exported, ...named)).toMatchObject({ check: { records: 50 } });
    expect(await evaluate('table.csv', ...named)).toMatchObject({
      error: { code: 'USAGE', expected: 'no --text-field for table.csv, which is read as csv' },
    });
  },
);

describe('a column of Unix milliseconds', { timeout: 60_000 }, () => {
  it('is warned of where the exported model takes it in float32, and not where it takes integers', async () => {
    const rows = Array.from(
      { length: 60 },
      (_, i) => `${1_700_000_000_000 + 9_000 * ((i * 7) % 60)},${i % 5},${i % 2}`,
    );
    writeFileSync(at('times.csv'), `ms,a,label\n${rows.join('\n')}\n`);
    await train('times.csv');
    const exported = ['model', 'export', '--model', at('model'), '--out', at('times')];
    const warning = /^numbers of column "ms" reach .* float32, which may be off by 1\.0e\+5 .* --integers/;
    expect(await veritrain(...exported)).toMatchObject({ warnings: [expect.stringMatching(warning)] });
    expect(await veritrain(...exported, '--integers')).toMatchObject({ warnings: [] });
  });
});
