/** A host stakes on no job whose proofs the contracts would refuse, and goes on with one on which its stake lies already. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeJobSpec } from '#attestation/records';
import { duties, engage, marketTerms, openMarket, walletOf, type Market } from '#test/escrow-market';
import { forgetProfile } from '#test/older-floor';
import { tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import { openPendingEscrows } from './pending.js';
import { createProvider, type Provider } from './provider.js';
import type { HostSettings } from './settings.js';

let market: Market;
let provider: Provider;
let spec: Uint8Array;
beforeAll(async () => {
  market = await openMarket();
  const { anvil, deployment } = market;
  const settings = {
    chain: { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 },
    ...{ providerSecret: walletOf('provider').privateKey, escrow: {}, attestors: {}, snpPolicies: new Map() },
  };
  provider = createProvider(
    settings as unknown as HostSettings,
    openPendingEscrows(mkdtempSync(join(tmpdir(), 'veritrain-host-'))),
  );
  const manifest = tinyManifest({ steps: 12, superblock: 4 });
  const dataset = await tinyDataset(manifest, { proving: 'chain1' });
  spec = encodeJobSpec((await tinyJob({ manifest, dataset, segmentSteps: 4, spec: { assurance: 'tee+zk' } })).spec);
});
afterAll(async () => {
  provider?.close();
  await market?.stop();
});

it('asks the chain for its floor where proofs may be owed, until it has accepted', async () => {
  const [terms, attested] = [marketTerms({ windows: duties }), marketTerms({ dutySelectors: [] })];
  await provider.checkPlan(spec, terms);
  await forgetProfile(market.chain, market.deployment, 'chain1');
  const refused = { family: 'rejection', code: 'HOST_TERMS_PLAN' };
  await expect(provider.checkPlan(spec, terms)).rejects.toMatchObject(refused);
  await market.as('client').open(terms);
  await expect(provider.checkPlan(spec, terms)).rejects.toMatchObject(refused);
  expect(await market.chain.getTransactionCount(walletOf('provider').address)).toBe(0);
  await provider.checkPlan(spec, attested);
  await engage(market, terms);
  await provider.checkPlan(spec, terms);
});
