import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { keyAdvice } from './key-place.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-key-place-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const id = new Uint8Array(32).fill(7);

it('says where a key is missed that the broker of this machine would need', () => {
  expect(keyAdvice(join(folder, 'of another machine'), id)).toEqual([]);
  writeFileSync(join(folder, 'torn.json'), '{"datasetId":');
  writeFileSync(join(folder, 'other.json'), JSON.stringify({ datasetId: to0x(id.with(0, 8)), key: '0x' }));
  expect(keyAdvice(folder, id)).toEqual([expect.stringContaining(`no file in ${folder}`)]);
  writeFileSync(join(folder, 'own.json'), JSON.stringify({ datasetId: to0x(id), key: '0x' }));
  expect(keyAdvice(folder, id)).toEqual([]);
});
