/** `veritrain report`: what one reviewer makes and signs another opens and judges anew. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { withOrigin } from '#libs/models';
import { fixturePath } from '#test/fixture';
import { exportedFile } from '#test/onnx-files';
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

it('makes documents about exported files, and refuses files of another training', async () => {
  const bundle = fixturePath('bundles/version-4.cbor');
  const [model, key, out] = ['model', 'p256.pem', 'document'].map((name) => join(folder, name)) as [
    ...[string, string, string],
  ];
  mkdirSync(join(model, '.git'), { recursive: true });
  writeFileSync(join(model, '.git', 'config'), 'no part of the model');
  writeFileSync(join(model, 'weights.bin'), 'weights');
  writeFileSync(
    key,
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  );
  const make = (...args: readonly string[]) => veritrain('make', bundle, '--out', out, '--model', model, ...args);
  expect((await make('--format', 'model-signature', '--key', key)).json).toMatchObject({ files: ['weights.bin'] });
  expect(readFileSync(out, 'utf8')).toContain('application/vnd.in-toto+json');
  expect((await make('--format', 'model-signature')).json).toMatchObject({ error: { code: 'REPORT_KEY' } });

  const { json } = await runCommand('bundle', 'verify', bundle, '--own-policy', '--allow-simulated');
  const origin = { jobId: json['jobId'] as string, weights: json['result'] as string };
  const onnx = exportedFile('keras-mlp-13.onnx');
  writeFileSync(join(model, 'model.onnx'), withOrigin(onnx, origin));
  expect((await make('--format', 'in-toto')).json).toMatchObject({ ok: true, files: ['model.onnx', 'weights.bin'] });
  writeFileSync(join(model, 'model.onnx'), withOrigin(onnx, { ...origin, weights: '00'.repeat(32) }));
  expect((await make('--format', 'in-toto')).json).toMatchObject({ error: { code: 'REPORT_MODEL' } });
  symlinkSync(key, join(model, 'linked'));
  expect((await make('--format', 'cyclonedx')).json).toMatchObject({ error: { code: 'REPORT_MODEL' } });
});
