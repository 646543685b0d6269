import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ed25519 from '@noble/ed25519';
import { describe, expect, it } from 'vitest';
import { signPolicy } from '#attestation';
import { ed25519Signer, to0x } from '#attestation/base';
import { tinyJob } from '#test/tiny-job';
import { createAppraiser } from './appraiser.js';
import { loadAttestorConfig, loadBrokerConfig } from './config.js';

const { policy } = await tinyJob();
const signerTestSecret = new Uint8Array(32).fill(0x61);
const signer = to0x(await ed25519.getPublicKeyAsync(signerTestSecret));
const signed = await signPolicy(policy, fromText(signer), ed25519Signer(signerTestSecret));

function fromText(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'));
}

function folderWith(settings: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-broker-'));
  const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content);
  put('policy.json', JSON.stringify(policy));
  put('policy.signed', signed);
  put('signing.test-key', `0x${'51'.repeat(32)}`);
  put('result.test-key', `0x${'52'.repeat(32)}`);
  put('settings.json', JSON.stringify(settings));
  return join(folder, 'settings.json');
}

const account = `0x${'11'.repeat(20)}`;
const shared = {
  signingKey: 'signing.test-key',
  resultKey: 'result.test-key',
  settlement: { chainId: 1, contract: account, registry: account },
  rpcUrl: 'http://127.0.0.1:1',
  journal: 'journal.jsonl',
};
const broker = {
  ...shared,
  dataKeys: '.',
  policy: 'policy.json',
  recipients: [`0x${'22'.repeat(32)}`],
  clients: [account],
};

describe('settings', () => {
  it('of a broker are read, with results beside the journal', async () => {
    const path = folderWith(broker);
    const config = await loadBrokerConfig(path);
    expect(config.results).toBe(join(path, '..', 'journal.jsonl.results'));
    expect(config.attestOnly).toBe(false);
    expect(config.progress).toBe('epoch');
    config.escrow.close();
  });

  it('of a broker name former policies beside the present one, all of which can be read', async () => {
    const config = await loadBrokerConfig(folderWith({ ...broker, formerPolicies: ['policy.json'] }));
    expect(config.policyFiles).toHaveLength(2);
    config.escrow.close();
    await expect(loadBrokerConfig(folderWith({ ...broker, formerPolicies: ['gone.json'] }))).rejects.toThrow(
      'BROKER_CONFIG',
    );
  });

  it('of an attestor name policies and no data keys', async () => {
    const config = await loadAttestorConfig(folderWith({ ...shared, policies: ['policy.json'] }));
    expect(config).toMatchObject({ attestOnly: true });
    config.escrow.close();
    await expect(loadAttestorConfig(folderWith({ ...broker, policies: ['policy.json'] }))).rejects.toThrow(
      'BROKER_CONFIG',
    );
    await expect(loadBrokerConfig(folderWith({ ...shared, policies: ['policy.json'] }))).rejects.toThrow(
      'BROKER_CONFIG',
    );
  });

  it('that give the key of a signer take the policies that it signed, and no others', async () => {
    const config = await loadBrokerConfig(folderWith({ ...broker, policy: 'policy.signed', policySigner: signer }));
    await createAppraiser(config);
    config.escrow.close();
    for (const wrong of [
      { policySigner: signer },
      { policy: 'policy.signed' },
      { policy: 'policy.signed', policySigner: `0x${'33'.repeat(32)}` },
      { policy: 'policy.signed', policySigner: signer, restrictions: 'policy.json' },
    ]) {
      await expect(loadBrokerConfig(folderWith({ ...broker, ...wrong }))).rejects.toThrow('BROKER_CONFIG');
    }
  });
});
