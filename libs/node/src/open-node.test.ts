/** A node has its data directory to itself, for what lies there is its stake. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openNode } from './open-node.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-open-node-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (name: string, dataDirectory = join(folder, 'data')) => {
  const dispatch = { kind: 'tcp', addresses: [{ host: '127.0.0.1', port: 9, tls: null }] } as const;
  const controlPlane = { urls: ['http://127.0.0.1:9'], dispatch, apiKey: '', answerSeconds: 1 };
  return openNode({ controlPlane, dataDirectory, logLevel: 'silent' }, name, []);
};

it('is refused to a second process of its kind until the first has ended', async () => {
  const first = await open('prover-worker');
  await expect(open('prover-worker')).rejects.toMatchObject({ code: 'DATA_DIRECTORY_IN_USE' });
  (await open('host-agent')).close();
  (await open('prover-worker', join(folder, 'other'))).close();
  first.close();
  (await open('prover-worker')).close();
});
