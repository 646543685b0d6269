/** The program on the page of libs/client, as it stands there: it seals, orders, waits, and has a checked model. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resultFiles } from '#libs/client';
import { decodeWeights, stateDigest } from '#libs/step';
import { toHex } from '#attestation/base';
import { startTestSystem, type TestSystem } from '../support/embedded.js';
import { smallManifest, writeManifest } from '../support/small-job.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = smallManifest({ steps: 16 });
let test: TestSystem;
beforeAll(async () => {
  test = await startTestSystem();
});
afterAll(() => test?.stop());

it('stands on the page', () => {
  const page = readFileSync(join(root, 'libs/client/README.md'), 'utf8');
  const program = readFileSync(join(root, 'libs/client/example-main.ts'), 'utf8');
  expect(/```ts\n(.*?)```/s.exec(page)?.[1]).toBe(program);
});

it('ends with a model that the client has checked', async () => {
  const { folder, files, system } = test;
  const file = writeManifest(join(folder, 'example.json'), manifest);
  const out = join(folder, 'example');
  const args = ['--conditions=source', '--import', '@oxc-node/core/register', 'libs/client/example-main.ts'];
  const process_ = spawn(process.execPath, [...args, file, files.images, files.labels, out], {
    cwd: root,
    env: { ...process.env, VERITRAIN_PROFILE: system.profileFile },
  });
  let [stdout, stderr] = ['', ''];
  process_.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  process_.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const status = await new Promise((resolve) => process_.once('exit', resolve));
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(out, 'result', name)));
  for (const name of resultFiles) expect(read(name).length).toBeGreaterThan(0);
  const digest = toHex(stateDigest(manifest, decodeWeights(manifest, read('weights.bin'))));
  expect(stdout).toContain('checkpoint');
  expect(stdout.trim().split('\n').at(-1)).toBe(`${digest} warning`);
}, 300_000);
