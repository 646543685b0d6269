/** The reader on a real chain: what the contract's events look like, and what an absent chain does. */
import { HDNodeWallet, NonceManager } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseTermsJson, termsJson } from '#attestation/records';
import {
  addressBytes,
  connect,
  deploy,
  openChainReader,
  SettlementClient,
  startAnvil,
  testMnemonic,
  type Anvil,
} from '#libs/settlement';
import { summarise } from '../src/jobs/escrow-projection.js';
import { readTerms } from '../src/jobs/escrow-terms.js';
import { codeOf } from './harness.js';
import { makeJob } from './job-fixture.js';

let anvil: Anvil;
let chain: ReturnType<typeof connect>;
let escrow: SettlementClient;
const wallet = (index: number) => HDNodeWallet.fromPhrase(testMnemonic, undefined, `m/44'/60'/0'/0/${index}`);
beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 25);
  const deployment = await deploy(new NonceManager(wallet(0).connect(chain)), {
    treasury: wallet(9).address,
  });
  escrow = new SettlementClient(deployment, new NonceManager(wallet(1).connect(chain)));
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

it('sees an escrow open and end as the contract meant it, and says when the chain is away', async () => {
  const now = (await chain.getBlock('latest'))!.timestamp;
  const { terms: fixture } = makeJob(now);
  const terms = {
    ...fixture,
    client: addressBytes(wallet(1).address),
    provider: addressBytes(wallet(2).address),
    keyBroker: addressBytes(wallet(3).address),
    windows: { ...fixture.windows, challenge: 600, reveal: 600, ack: 600 },
  };
  const { settlement: contract } = escrow.deployment;
  const reader = openChainReader({ rpcUrl: anvil.url, contract, chainId: anvil.chainId });
  const known = readTerms(termsJson(terms));
  expect(parseTermsJson(termsJson(terms))).toEqual(terms);

  const opened = await escrow.open(terms);
  const seen = async () => {
    const events = await reader.events(0, (await reader.head()).number);
    const mine = events.filter(({ job }) => job === known.escrowId);
    return summarise(mine.map(({ args, txHash, ...event }) => ({ ...event, data: args, transaction: txHash })));
  };
  expect(await seen()).toEqual({ state: 'open', price: known.price, provider: null, transaction: opened.txHash });
  const block = await reader.block(opened.blockNumber);
  expect(block).toEqual({ number: opened.blockNumber, hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  expect(await reader.block(opened.blockNumber + 100)).toBeNull();

  const cancelled = await escrow.cancel(terms);
  expect(await seen()).toMatchObject({ state: 'aborted', transaction: cancelled.txHash });

  await anvil.stop();
  expect(await codeOf(reader.head())).toBe('CHAIN_UNREACHABLE');
  reader.close();
});
