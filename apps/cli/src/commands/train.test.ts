import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { canonicalManifest } from '#libs/step';
import { smallNet } from '#test/net-agreement';
import { runCommand } from '#test/run-command';
import { run } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-train-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

it('says what to ask for beside --vector', async () => {
  expect((await runCommand('train', '--vector', 'vector.json')).json).toMatchObject({
    error: { code: 'USAGE', action: expect.stringMatching(/^say --digest-at 0,1,100/) as unknown },
  });
});

it('says which of --manifest and --out is missing beside --data', async () => {
  const train = ['train', '--data', 'rows.csv'];
  const gotOf = async (...more: string[]) => (await runCommand(...train, ...more)).json;
  expect(await gotOf('--manifest', 'm.json')).toMatchObject({ error: { code: 'USAGE', got: 'no --out' } });
  expect(await gotOf('--out', 'model')).toMatchObject({ error: { code: 'USAGE', got: 'no --manifest' } });
  expect(await gotOf()).toMatchObject({ error: { code: 'USAGE', got: 'no --manifest and no --out' } });
});

describe('--carrier', () => {
  const vector = join(folder, 'vector.json');
  const manifest = JSON.parse(
    new TextDecoder().decode(canonicalManifest(smallNet([{ op: 'dense', out: 3 }]))),
  ) as object;
  writeFileSync(vector, JSON.stringify({ ...manifest, data: { kind: 'table', n: 8, out: 1 } }));
  const asked = join(folder, 'asked.json');
  const first = join(folder, 'first.cjs');
  writeFileSync(
    first,
    [
      `const { readFileSync, writeFileSync, writeSync } = require('node:fs');`,
      `writeFileSync(${JSON.stringify(asked)}, readFileSync(0));`,
      `writeSync(1, '{"digests":{"1":"ab"},"samplesPerSecond":1}'); process.exit(0);`,
    ].join('\n'),
  );
  const train = ['train', '--vector', vector, '--digest-at', '1'];
  /** An engine that tells figures, and why it ends, in words and as its answer. */
  const speaking = join(folder, 'speaking.cjs');
  const told = [
    '{"step":1,"loss":0.5,"accuracy":0.25,"edges":[]}',
    '{"step":1,"metrics":[{"metric":"accuracy","numerator":"3","denominator":"4"}]}',
    'STEP_OUT_OF_JOB: expected 1, got 2 (rule)',
  ];
  const answer = { error: { family: 'rejection', code: 'STEP_OUT_OF_JOB', expected: '1', got: '2', rule: 'rule' } };
  writeFileSync(
    speaking,
    `const { readFileSync, writeSync } = require('node:fs'); readFileSync(0);
     writeSync(2, ${JSON.stringify(`${told.join('\n')}\n`)});
     writeSync(1, ${JSON.stringify(JSON.stringify(answer))}); process.exit(1);`,
  );

  /** What the engine is asked for, of one that answers without training. */
  async function askedWith(...more: readonly string[]): Promise<unknown> {
    vi.stubEnv('NODE_OPTIONS', `--require ${first}`);
    expect((await runCommand(...train, ...more)).json).toMatchObject({ digests: { 1: 'ab' } });
    return (JSON.parse(readFileSync(asked, 'utf8')) as { carrier?: unknown }).carrier;
  }

  it('of a vector is what the engine is asked for', async () => {
    expect(await askedWith('--carrier', 'float64')).toBe('float64');
    expect(await askedWith('--carrier', 'auto')).toBe('auto');
    expect(await askedWith()).toBe('auto');
  });

  it('of a run without --json tells figures as lines, and a failure once', async () => {
    vi.stubEnv('NODE_OPTIONS', `--require ${speaking}`);
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await run(['node', 'veritrain', ...train]);
    vi.unstubAllEnvs();
    expect(said.mock.calls.map(([line]) => line)).toEqual([
      'step 1  loss 0.5000  met 25.0 %\n',
      'validation at step 1  accuracy 3/4\n',
      'STEP_OUT_OF_JOB\n',
      expect.stringContaining('got       2'),
    ]);
    said.mockRestore();
    process.exitCode = 0;
  });

  it('is refused where it is none', async () => {
    const { code, json } = await runCommand(...train, '--carrier', 'float32');
    expect(code).toBe(1);
    expect(json).toMatchObject({ error: { code: 'USAGE', got: expect.stringContaining('--carrier') as unknown } });
  });
});
