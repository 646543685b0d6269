/** The cap on the price of gas as host, prover and client read it from their settings, on a local chain. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { fromHex } from '#attestation/base';
import { loadProfile, openChain } from '#libs/client';
import { chainSettings } from '#libs/node';
import { openPendingEscrows } from '../../apps/host-agent/src/pending.js';
import { createProvider } from '../../apps/host-agent/src/provider.js';
import type { HostSettings } from '../../apps/host-agent/src/settings.js';
import { openEscrow } from '../../apps/prover-worker/src/node/escrow.js';
import type { ProverSettings } from '../../apps/prover-worker/src/node/settings.js';
import { duties, marketTerms, native, openMarket, releaseOf, walletOf, type Market } from '../support/escrow-market.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

let market: Market;
let folder: string;
beforeAll(async () => {
  market = await openMarket();
  folder = mkdtempSync(join(tmpdir(), 'veritrain-fee-cap-'));
});
afterAll(async () => {
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A block's base fee alone is more. */
const feePerGasMaxWei = '1';
const secret = fromHex(walletOf('provider').privateKey);
const refused = { code: 'CHAIN_FEES', detail: { expected: expect.stringContaining('gas at 1 wei or less') } };

function chainOf({ anvil, deployment }: Market) {
  const chain = { rpcUrl: anvil.url, pollingMs: 20, confirmations: 1, deployment, feePerGasMaxWei };
  return z.strictObject(chainSettings(z.any())).parse(chain);
}

async function newJob() {
  const terms = marketTerms({ windows: duties });
  if ((await market.as('client').job(terms)).state === 'None') await market.as('client').open(terms);
  return { terms, ...releaseOf(market, terms, null) };
}

it('stops a host', async () => {
  const { terms, release, signature: releaseSignature } = await newJob();
  const settings = { chain: chainOf(market), providerSecret: walletOf('provider').privateKey, snpPolicies: new Map() };
  const escrow = { attestors: {}, escrow: {} };
  const pending = openPendingEscrows(join(folder, 'pending'));
  const provider = createProvider({ ...settings, ...escrow } as unknown as HostSettings, pending);
  const session = { ...{ release, releaseSignature }, appraisals: [], evidence: new Uint8Array() };
  const attestOver = (nonce: Uint8Array) => Promise.resolve(nonce);
  await expect(provider.engage(terms, { ...session, attestOver })).rejects.toMatchObject(refused);
  provider.close();
});

it('stops a prover', async () => {
  const { terms, release, signature: releaseSignature } = await newJob();
  const settings = { chain: chainOf(market), accountSecret: secret } as unknown as ProverSettings;
  const escrow = openEscrow(settings, undefined as never);
  const spec = { scheme: 'fxt/1' } as never;
  await expect(escrow.engage({ spec, terms }, { release, releaseSignature } as never)).rejects.toMatchObject(refused);
  escrow.close();
});

it('stops a client', async () => {
  const file = join(folder, 'client.json');
  writeFileSync(join(folder, 'account'), walletOf('client').privateKey, { mode: 0o600 });
  const { rpcUrl, pollingMs, deployment } = chainOf(market);
  const profile = {
    controlPlane: { url: 'http://127.0.0.1:9', apiKey: 'none' },
    broker: { url: 'http://127.0.0.1:9', account: 'none', keysFolder: 'keys' },
    ...{ policy: 'policy.json', recipientKey: 'recipient' },
    chain: { rpcUrl, pollingMs, deployment, accountKey: 'account', feePerGasMaxWei },
  };
  writeFileSync(file, JSON.stringify(profile));
  const chain = openChain(loadProfile(file));
  await expect(chain.escrow.stakeUpTo(native, 1n)).rejects.toMatchObject(refused);
  chain.close();
});
