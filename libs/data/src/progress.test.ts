/** What is told of a reading ends where all has been read, in a unit that the source has. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { afterAll, expect, it } from 'vitest';
import { look, openSource } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-progress-'));
afterAll(() => rmSync(folder, { recursive: true }));

function npy(name: string, dtype: string, shape: string, data: Uint8Array): string {
  const words = `{'descr': '${dtype}', 'fortran_order': False, 'shape': (${shape}), }`.padEnd(117);
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(`${words}\n`)]);
  writeFileSync(join(folder, name), Buffer.concat([head, data]));
  return join(folder, name);
}

async function lastOf(source: Awaited<ReturnType<typeof openSource>>): Promise<unknown> {
  let last: unknown;
  await look(source, { onProgress: (progress) => (last = progress) });
  return last;
}

it('ends at the bytes of a file with headers', async () => {
  const labels = npy('y.npy', '|u1', '3,', Uint8Array.of(0, 1, 0));
  const source = await openSource(npy('x.npy', '|u1', '3, 2', new Uint8Array(6)), { labels });
  expect(source.bytes).toBeGreaterThan(9);
  expect(await lastOf(source)).toEqual({ stage: 'look', done: source.bytes, of: source.bytes, unit: 'bytes' });
});

it('counts the pictures of a folder', async () => {
  for (const kind of ['a', 'b']) {
    mkdirSync(join(folder, 'pictures', kind), { recursive: true });
    writeFileSync(join(folder, 'pictures', kind, '1.png'), PNG.sync.write(new PNG({ width: 2, height: 2 })));
  }
  const source = await openSource(join(folder, 'pictures'));
  expect(await lastOf(source)).toEqual({ stage: 'look', done: 2, of: 2, unit: 'rows' });
});
