/** The program on the page of libs/client, as it stands there: it seals, orders, waits, and has a checked model. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x, toHex } from '#attestation/base';
import { orderJob, sealFiles, type ControlPlaneApi, type Watch } from '#libs/client';
import { nodeCommand } from '#libs/process';
import { decodeWeights, stateDigest } from '#libs/step';
import { reward, startTestSystem, type TestSystem } from '../support/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

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
  const words = [file, files.images, files.labels, out];
  const [node, ...args] = nodeCommand('../../libs/client/example-main', import.meta.url, words);
  const process_ = spawn(node, args, {
    cwd: root,
    env: { ...process.env, VERITRAIN_PROFILE: system.profileFile },
  });
  let [stdout, stderr] = ['', ''];
  process_.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  process_.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const status = await new Promise((resolve) => process_.once('exit', resolve));
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(out, 'result', name)));
  for (const name of ['model.onnx', 'weights.bin', 'manifest.json', 'job.vtb'])
    expect(read(name).length).toBeGreaterThan(0);
  const digest = toHex(stateDigest(manifest, decodeWeights(manifest, read('weights.bin'))));
  expect(stdout).toContain('checkpoint');
  expect(stdout.trim().split('\n').at(-1)).toBe(`${digest} warning`);
}, 300_000);

it('goes on with an upload that was interrupted: shards that are there are not sent again', async () => {
  const { folder, profile, api, system } = test;
  const file = writeManifest(join(folder, 'upload.json'), manifest);
  const dataset = join(folder, 'upload');
  const key = join(profile.broker.keysFolder, 'upload.json');
  const { id } = await sealFiles({
    manifest: file,
    ...writeSmallFiles(join(folder, 'more'), 12_000),
    out: dataset,
    key,
  });
  const sent: string[] = [];
  const counting: ControlPlaneApi = {
    ...api,
    put: (path, body) => (sent.push(path.split('/').at(-1)!), api.put(path, body)),
  };
  const order = { manifest: file, dataset, segmentSteps: 8, rewardWei: reward, provider: system.provider };
  const stop = new AbortController();
  const once: Watch = { onProgress: () => stop.abort(new Error('interrupted')), signal: stop.signal };
  await expect(orderJob(order, profile, counting, once)).rejects.toThrow('interrupted');
  const there = async (): Promise<boolean[]> => {
    const { shards } = await api.get<{ shards: { uploaded: boolean }[] }>(`datasets/${to0x(id)}`);
    return shards.map(({ uploaded }) => uploaded);
  };
  expect([sent, await there()]).toEqual([['0'], [true, false, false]]);
  const told: number[] = [];
  await orderJob(order, profile, counting, { onProgress: ({ done, of }) => told.push(done / of) });
  expect([sent, await there()]).toEqual([
    ['0', '1', '2'],
    [true, true, true],
  ]);
  expect(told).toHaveLength(3);
  expect(told.at(-1)).toBe(1);
}, 120_000);
