/** `veritrain report`: what one reviewer makes and signs another opens and judges anew. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fixturePath } from '#test/fixture';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-report-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const veritrain = (...args: readonly string[]) => runCommand('report', ...args);

it('makes, signs and verifies; another bundle and another signer are told', async () => {
  const bundle = fixturePath('bundles/version-4.cbor');
  const [json, key, vtr] = ['report.json', 'key.pem', 'report.vtr'].map((name) => join(folder, name)) as [
    ...[string, string, string],
  ];
  writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const made = await veritrain('make', bundle, '--at', '1780000000', '--out', json);
  expect(made.json).toMatchObject({ judgements: [{ at: null }, { at: 1_780_000_000 }] });
  const signed = await veritrain('sign', json, '--key', key, '--out', vtr);
  const same = await veritrain('verify', vtr, bundle);
  expect([same.code, same.json['differences'], same.json['signer']]).toEqual([0, [], signed.json['signer']]);
  const foreign = await veritrain(
    'verify',
    vtr,
    fixturePath('bundles/version-4-rounds.cbor'),
    '--signer',
    `0x${'0'.repeat(64)}`,
  );
  expect(foreign.code).toBe(1);
  expect(foreign.json['differences']).toEqual(
    expect.arrayContaining(['signer', 'bundle', 'jobId', 'judgements[0]']) as unknown,
  );
  writeFileSync(vtr, readFileSync(json));
  expect((await veritrain('verify', vtr, bundle)).json).toMatchObject({ error: expect.anything() as unknown });
});
