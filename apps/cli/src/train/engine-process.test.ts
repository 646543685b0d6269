import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { runEngine } from './engine-process.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-engine-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

it('hands on the words of an engine that ends without a report', { timeout: 60_000 }, async () => {
  const first = join(folder, 'first.cjs');
  writeFileSync(first, "process.stderr.write('no such library\\n'); process.exit(7);\n");
  vi.stubEnv('NODE_OPTIONS', `--require ${first}`);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const failed = runEngine({}, () => undefined);
  await expect(failed).rejects.toMatchObject({
    ...{ code: 'ENGINE_FAILED', detail: { got: 'nothing; it ended with status 7' } },
  });
  expect(stderr.mock.calls.flat()).toContain('no such library\n');
  stderr.mockRestore();
});

it('hands on the last figures before the report', { timeout: 60_000 }, async () => {
  const first = join(folder, 'late.cjs');
  const lines = [
    `const { closeSync, writeSync } = require('node:fs');`,
    `writeSync(1, '{"digests":{"1":"ab"},"samplesPerSecond":1}'); closeSync(1);`,
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);',
    String.raw`writeSync(2, '{"step":1,"metrics":[]}\n'); process.exit(0);`,
  ];
  writeFileSync(first, lines.join('\n'));
  vi.stubEnv('NODE_OPTIONS', `--require ${first}`);
  const told: unknown[] = [];
  expect(await runEngine({}, (one) => told.push(one))).toEqual({ digests: { 1: 'ab' }, samplesPerSecond: 1 });
  expect(told).toEqual([{ step: 1, metrics: [] }]);
  const broken = runEngine({}, () => {
    throw new Error('nobody hears');
  });
  await expect(broken).rejects.toThrow('nobody hears');
});

it('says why an engine did not start', async () => {
  const { execPath } = process;
  process.execPath = join(folder, 'none');
  const ended = runEngine({}, () => undefined);
  process.execPath = execPath;
  await expect(ended).rejects.toMatchObject({
    detail: { got: expect.stringMatching(/^nothing; .*ENOENT/) as unknown },
  });
});
