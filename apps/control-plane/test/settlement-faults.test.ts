/**
 * Escrows on a chain that takes blocks back, through an endpoint that loses, repeats and withholds: the control plane
 * ends in the state that it has without all that, and nobody pays twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEther, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { keccak } from '#attestation/base';
import { JobMode, teeSelector, type Terms } from '#attestation/records';
import {
  addressBytes,
  connect,
  openChainReader,
  SettlementClient,
  zkSelector,
  type ClientOptions,
} from '#libs/settlement';
import { openMarket, releaseOf, runOf, walletOf, type Market, type Role } from '#test/escrow-market';
import { startFaultyRpc, type Fault, type FaultyRpc } from '#test/faulty-rpc';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import { submit, weights, type Fixture } from './job-fixture.js';

// Proofs and blocks take their time on a machine that does other things too.
vi.setConfig({ testTimeout: 300_000 });

let market: Market;
let proxy: FaultyRpc;
let rpc: JsonRpcProvider;
let test: TestPlane;
let salt = 0;

beforeAll(async () => {
  market = await openMarket();
  proxy = await startFaultyRpc(market.anvil.url);
  const { chainId } = market.anvil;
  rpc = connect(proxy.url, chainId, 20);
  const contract = market.deployment.settlement.toLowerCase();
  const chain = { rpcUrl: proxy.url, chainId, contract, confirmations: 0, startBlock: 0, pollMilliseconds: 600_000 };
  test = await startTestPlane({ chain }, { escrowReader: openChainReader(chain) });
});
afterAll(async () => {
  await test?.stop();
  rpc?.destroy();
  await proxy?.stop();
  await market?.stop();
});

const window = 1000;
const none = { finality: 0, draw: 0, drawBlocks: 0, hold: 0, reveal: 0, ack: 0 };

function escrowTerms(): Partial<Terms> {
  return {
    client: addressBytes(walletOf('client').address),
    provider: addressBytes(walletOf('provider').address),
    keyBroker: addressBytes(walletOf('broker').address),
    ...{ teeSelector, dutySelectors: [zkSelector], mode: JobMode.optimistic },
    ...{ price: parseEther('1'), stake: parseEther('0.5'), liveness: 1n, bond: 10n, bondFee: 1n },
    seedCommitClient: keccak(Uint8Array.of(++salt)),
    acceptBy: 4_000_000_000,
    windows: { start: window, compute: window, challenge: window, prove: window, provePer: window, ...none },
  };
}

const as = (role: Role, options: ClientOptions = {}): SettlementClient =>
  new SettlementClient(market.deployment, walletOf(role).connect(rpc), options);

async function newJob(): Promise<Fixture> {
  const { chainId } = market.anvil;
  const contract = addressBytes(market.deployment.settlement);
  return submit(test, { spec: { settlement: { chainId, contract } }, terms: escrowTerms() });
}

/** Until the control plane has read what there is: a look that fails is followed by another. */
async function look(): Promise<void> {
  for (let attempt = 0; (await codeOf(test.poll())) !== 'ok'; attempt++) if (attempt > 20) throw new Error('no look');
}

/** What the control plane says in the end, hashes and block numbers left out. */
async function endOf(job: Fixture): Promise<object> {
  await look();
  const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200);
  const { body: escrow } = await test.as('client').get(`/v1/jobs/${job.jobId}/escrow`).expect(200);
  const { state, code, escrowState, funded } = body;
  const { fundedWei, paidWei, upTo, root, duties } = escrow;
  const payments = escrow.payments.map(({ kind, to, amountWei }: Record<string, string>) => [kind, to, amountWei]);
  return { state, code, escrowState, funded, fundedWei, paidWei, upTo, root, duties, payments };
}

type Finalize = (provider: SettlementClient, terms: Terms) => Promise<unknown>;

const finalizeOnce: Finalize = async (provider, terms) => {
  await market.pass(window + 2);
  return provider.finalize(terms);
};

/** Blocks that are taken back take the time with them that was let pass; a transaction on its way then fails in its block. */
const finalizeAtLast: Finalize = async (provider, terms) => {
  for (let attempt = 0; ; attempt++) {
    const code = await codeOf(finalizeOnce(provider, terms));
    if (code === 'ok') return;
    expect(attempt < 10 ? ['TOO_EARLY', 'CHAIN_REVERT'] : ['ok']).toContain(code);
  }
};

/** One job that is paid and one that its client takes back. */
async function play(client: SettlementClient, provider: SettlementClient, finalize = finalizeOnce): Promise<object[]> {
  const [paid, cancelled] = [await newJob(), await newJob()];
  await Promise.all([client.open(paid.terms), client.open(cancelled.terms)]);
  await look();
  await provider.accept(paid.terms);
  await Promise.all([provider.start(paid.terms, releaseOf(market, paid.terms, null)), client.cancel(cancelled.terms)]);
  await look();
  await provider.commit(paid.terms, runOf([0, 2, 4, 6].map(weights)));
  await look();
  await finalize(provider, paid.terms);
  return [await endOf(paid), await endOf(cancelled)];
}

const calm = { strike: () => null, holds: 0 };

describe('the control plane ends in the same state', () => {
  let expected: object[];

  it('as it has on a calm chain', async () => {
    expected = await play(as('client'), as('provider'));
    const price = String(parseEther('1'));
    expect(expected).toMatchObject([
      { escrowState: 'settled', fundedWei: price, upTo: 3, payments: [['end', 'provider', price]] },
      { state: 'cancelled', escrowState: 'aborted', payments: [['end', 'client', price]] },
    ]);
  });

  it.each<[string, FaultyRpc['strike'], Fault]>([
    ['every fourth request is lost', ({ count }) => (count % 4 === 3 ? 'lose request' : null), 'lose request'],
    [
      'the first answer to every transaction is lost',
      ({ isNewTransaction }) => (isNewTransaction ? 'lose answer' : null),
      'lose answer',
    ],
    ['every transaction arrives twice', ({ isNewTransaction }) => (isNewTransaction ? 'repeat' : null), 'repeat'],
  ])('when %s', async (_, strike, fault) => {
    proxy.strike = strike;
    try {
      expect(await play(as('client'), as('provider'))).toEqual(expected);
    } finally {
      Object.assign(proxy, calm);
    }
    expect(proxy.struck.get(fault)).toBeGreaterThan(2);
  });

  it('when two processes of each side do everything', async () => {
    const both = (role: Role): SettlementClient => {
      const [first, second] = [as(role), as(role)];
      return new Proxy(first, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          return async (...args: unknown[]) => {
            const call = (one: SettlementClient) =>
              (value as (...given: unknown[]) => Promise<unknown>).apply(one, args);
            return (await Promise.all([call(first), call(second)]))[0];
          };
        },
      });
    };
    const before = await market.money();
    expect(await play(both('client'), both('provider'))).toEqual(expected);
    const { client, provider } = await market.money();
    // The price of the second job is the client's credit; the stake that both processes deposited is the provider's.
    expect(client - before.client).toBe(parseEther('1'));
    expect((provider - before.provider) % parseEther('0.5')).toBe(0n);
  });

  it('when transactions are withheld, and come in another order', async () => {
    proxy.holds = 2;
    expect(await play(as('client'), as('provider'))).toEqual(expected);
    expect(proxy.struck.get('withheld')).toBeGreaterThan(1);
  });

  it('when transactions are stuck until they pay more', async () => {
    const send = (method: string, ...params: unknown[]): Promise<unknown> => market.chain.send(method, params);
    const hasty = { repriceAfterMs: 60, repricings: 50 };
    await send('evm_setAutomine', false);
    let isOver = false;
    const blocks = (async () => {
      for (let n = 0; !isOver; n++) {
        await sleep(60);
        // Dearer than what was offered after the block before; then cheaper by an eighth from block to block.
        if (n % 8 === 0) await send('anvil_setNextBlockBaseFeePerGas', `0x${(3n * 10n ** 9n).toString(16)}`);
        await send('evm_mine');
      }
    })();
    try {
      expect(await play(as('client', hasty), as('provider', hasty))).toEqual(expected);
    } finally {
      isOver = true;
      await blocks;
      await send('evm_setAutomine', true);
    }
  });

  it('when three blocks are taken back under every transaction', async () => {
    const patient = { confirmations: 5 };
    let isOver = false;
    let reorganisations = 0;
    const blocks = (async () => {
      for (let n = 1; !isOver; n++) {
        await market.mine(1);
        if (n % 12 === 0) {
          await market.chain.send('anvil_reorg', [3, []]);
          reorganisations++;
          await codeOf(test.poll());
        }
        await sleep(25);
      }
    })();
    try {
      expect(await play(as('client', patient), as('provider', patient), finalizeAtLast)).toEqual(expected);
    } finally {
      isOver = true;
      await blocks;
    }
    expect(reorganisations).toBeGreaterThan(2);
  });

  it('when an account runs out of gas money and is funded again', async () => {
    const provider = as('provider');
    const { address } = walletOf('provider');
    const poor = new Proxy(provider, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'commit') return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
        return async (...args: Parameters<SettlementClient['commit']>) => {
          const balance = await market.chain.getBalance(address);
          await market.chain.send('anvil_setBalance', [address, '0x1']);
          expect(await codeOf(target.commit(...args))).toBe('CHAIN_FUNDS');
          await market.chain.send('anvil_setBalance', [address, `0x${balance.toString(16)}`]);
          return target.commit(...args);
        };
      },
    });
    expect(await play(as('client'), poor)).toEqual(expected);
  });
});
