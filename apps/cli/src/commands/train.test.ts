import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { canonicalManifest } from '#libs/step';
import { smallNet } from '#test/net-agreement';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-train-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

it('says what to ask for beside --vector', async () => {
  expect((await runCommand('train', '--vector', 'vector.json')).json).toMatchObject({
    error: { code: 'USAGE', action: expect.stringMatching(/^say --digest-at 0,1,100/) as unknown },
  });
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

  it('is refused where it is none', async () => {
    const { code, json } = await runCommand(...train, '--carrier', 'float32');
    expect(code).toBe(1);
    expect(json).toMatchObject({ error: { code: 'USAGE', got: expect.stringContaining('--carrier') as unknown } });
  });
});
