import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Profile } from '../api/profile.js';
import { keepReading, ownReading } from './reading.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-reading-'));
afterAll(() => rmSync(folder, { recursive: true }));

const profile = { recipientKey: join(folder, 'keys', 'recipient.key') } as Profile;
const jobId = (n: number): string => `0x${String(n).repeat(64)}`;
const header = {
  ...{ layout: 2, features: { dtype: 'tokens', shape: [4], vocab: 9 }, label: { kind: 'tokens' }, split: 'given' },
  columns: [{ name: 'text', kind: 'text' }],
  tokenizer: { name: 'characters', sha256: `0x${'11'.repeat(32)}` },
};

it('keeps the header of a job and the tokenizer beside its manifest, and has none of other jobs', () => {
  writeFileSync(join(folder, 'tokenizer.json'), '{}');
  keepReading(profile, jobId(1), header, join(folder, 'manifest.json'), Uint8Array.of(1, 2));
  expect(ownReading(profile, jobId(1))).toMatchObject({
    header,
    tokenizer: Uint8Array.of(0x7b, 0x7d),
    start: Uint8Array.of(1, 2),
  });
  expect(ownReading(profile, jobId(2))).toBeNull();
  keepReading(profile, jobId(3), { ...header, tokenizer: null }, join(folder, 'manifest.json'), null);
  expect(ownReading(profile, jobId(3))).not.toHaveProperty('start');
  expect(ownReading(profile, jobId(3))).not.toHaveProperty('tokenizer');
});
