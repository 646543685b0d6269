/** What a client must not take for granted of a chain: short ranges of logs, senders that are contracts, reorganisations. */
import { Interface, toBeHex, type Filter, type JsonRpcProvider, type Provider } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { keccak, to0x } from '#attestation/base';
import { ciphertextDigest as digestOf, deliveryDigest, JobMode, keyCommitment, type Terms } from '#attestation/records';
import {
  duties,
  engage,
  marketTerms,
  openMarket,
  releaseOf,
  runOf,
  sealedRun,
  seedClient,
  seedProvider,
  walletOf,
  type Market,
  type Role,
  type TermsChange,
} from '#test/escrow-market';
import { chainKindOf, chainSettings, revealMarginOf, windowOf, type ChainKind } from './chain-kinds.js';
import { checksummed, termsStruct } from './chain.js';
import { SettlementClient } from './client.js';
import { settlementAbi } from './contracts.js';
import { logsOf, pageBlocks } from './logs.js';
import { grantStruct } from './signed.js';

let market: Market;
let chain: JsonRpcProvider;
let salt = 0;
const word = (n: number) => new Uint8Array(32).fill(n);
const borders = [word(1), word(2), word(3)];
beforeAll(async () => {
  market = await openMarket();
  chain = market.chain;
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  await market?.stop();
});

const terms = (change: TermsChange): Terms =>
  marketTerms({ segments: 2, initialWeights: borders[0]!, acceptBy: 2 ** 39 + ++salt, ...change });

/** The same contracts, taken for those of another kind of chain. */
function on(kind: ChainKind, role: Role): SettlementClient {
  const { deployment } = market;
  const setup = { ...deployment.setup, kind };
  return new SettlementClient({ ...deployment, setup }, walletOf(role).connect(chain));
}

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );

describe('S-M16', () => {
  it('S-M16 asks for logs by pages, and for none long before the job was opened', async () => {
    const logBlocks = 20;
    const party = (role: Role) => new SettlementClient(market.deployment, walletOf(role).connect(chain), { logBlocks });
    await market.mine(10 * logBlocks);
    const t = terms({ mode: JobMode.full, windows: duties });
    const { blockNumber: opened } = await party('client').open(t);
    await market.mine(2 * logBlocks + 5);
    const ranges: [number, number][] = [];
    const send = chain.send.bind(chain);
    vi.spyOn(chain, 'send').mockImplementation(async (method, params) => {
      if (method === 'eth_getLogs') {
        const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
        ranges.push([Number(fromBlock), Number(toBlock)]);
      }
      return send(method, params);
    });
    const provider = party('provider');
    await provider.accept(t, keccak(seedProvider));
    await provider.start(t, releaseOf(market, t, null));
    await provider.commit(t, runOf(borders));
    await market.mine(2 * logBlocks + 5);
    // Processes that know nothing of it.
    expect((await party('client').open(t)).blockNumber).toBe(opened);
    expect((await party('provider').commit(t, runOf(borders))).txHash).toBeDefined();
    expect(await party('challenger').duties.bordersOf(t)).toEqual(borders);
    expect(ranges.length).toBeGreaterThan(4);
    expect(Math.max(...ranges.map(([from, to]) => to - from + 1))).toBeLessThanOrEqual(logBlocks);
    expect(Math.min(...ranges.map(([from]) => from))).toBeGreaterThan(opened - 2 * logBlocks);
    expect(pageBlocks).toBe(2_000);
  });

  it('S-M16 reads the past of a contract by pages of 2,000 blocks', async () => {
    const asked: Filter[] = [];
    const node = { getLogs: async (filter: Filter) => (asked.push(filter), []) } as unknown as Provider;
    expect(await logsOf(node, { address: market.deployment.roles }, 7, 4_100)).toEqual([]);
    expect(asked.map(({ fromBlock, toBlock }) => [fromBlock, toBlock])).toEqual([
      ...[
        [7, 2_006],
        [2_007, 4_006],
        [4_007, 4_100],
      ],
    ]);
  });
});

/** Calls the account in the first word of its calldata with the rest: stands for a multi-signature account. */
const forwarder = '0x60208060095f395ff3602036038060205f375f5f915f345f355af13d5f5f3e601c573d5ffd5b3d5ff3';

describe('S-M15', () => {
  it('S-M15 reads the borders of a run that a contract committed', async () => {
    const operator = walletOf('challenger').connect(chain);
    const made = await (await operator.sendTransaction({ data: forwarder })).wait();
    const account = made!.contractAddress!;
    const t = terms({
      mode: JobMode.full,
      provider: new Uint8Array(Buffer.from(account.slice(2), 'hex')),
      windows: duties,
    });
    const call = async (name: string, args: readonly unknown[], value = 0n): Promise<void> => {
      const inner = new Interface(settlementAbi.fragments).encodeFunctionData(name, args);
      const data = toBeHex(market.deployment.settlement, 32) + inner.slice(2);
      await (await operator.sendTransaction({ to: account, data, value })).wait();
    };
    await market.as('client').open(t);
    await call('depositStake', [checksummed(t.token), t.stake], t.stake);
    await call('accept', [termsStruct(t), keccak(seedProvider), '0x']);
    await call('start', [termsStruct(t), grantStruct(releaseOf(market, t, null)), []]);
    await call('commit', [termsStruct(t), { ...runOf(borders), keys: [] }]);
    expect(await market.as('client').duties.bordersOf(t)).toEqual(borders);
    const { root, txHash } = await market.as('client').committed(t);
    expect((await market.as('client').job(t)).root).toBe(root);
    expect((await chain.getTransaction(txHash))!.to).toBe(account);
  });
});

describe('S-M10', () => {
  it('S-M10 shows the client’s seed only when the commit is final, and its window of finality past', async () => {
    const t = terms({
      ...{ mode: JobMode.sample, samples: 2, seedCommitClient: keccak(seedClient) },
      windows: { ...duties, finality: 3000 },
    });
    await engage(market, t);
    await market.as('provider').commit(t, runOf(borders, { seedProvider }));
    const client = on('l1', 'client');
    const before = await chain.getTransactionCount(walletOf('client').address);
    expect(await code(client.duties.draw(t, seedClient))).toBe('DRAW_NOT_FINAL');
    await market.mine(70);
    // Final, but within the window.
    expect(await code(client.duties.draw(t, seedClient))).toBe('DRAW_NOT_FINAL');
    await market.pass(3000);
    // Past the window, but not in a final block.
    expect(await code(client.duties.draw(t, seedClient))).toBe('DRAW_NOT_FINAL');
    expect(await chain.getTransactionCount(walletOf('client').address)).toBe(before);
    await market.mine(70);
    await client.duties.draw(t, seedClient);
    expect((await client.duties.sampleOf(t))!.length).toBe(2);
  });

  it('S-M10 the contract itself refuses a draw within the window of finality', async () => {
    const t = terms({
      ...{ mode: JobMode.sample, samples: 2, seedCommitClient: keccak(seedClient) },
      windows: { ...duties, finality: 3000 },
    });
    await engage(market, t);
    await market.as('provider').commit(t, runOf(borders, { seedProvider }));
    const request = settlementAbi.encodeFunctionData('draw', [termsStruct(t), seedClient]);
    const { settlement } = market.deployment;
    await expect(chain.call({ to: settlement, data: request })).rejects.toMatchObject({ data: /^0x/ });
    await market.pass(3001);
    expect(await chain.call({ to: settlement, data: request })).toBe('0x');
  });
});

describe('S-L13', () => {
  it('S-L13 shows the reveal key only when the end of the windows is final', async () => {
    const key = word(0x77);
    const ciphertextDigest = digestOf(word(5));
    const delivery = deliveryDigest(ciphertextDigest, keyCommitment(key));
    const t = terms({
      ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [] },
      windows: { challenge: 100, ack: 100, reveal: 90_000 },
    });
    await engage(market, t);
    await market.as('provider').commit(t, sealedRun(market, t, borders, { delivery }));
    const host = on('opStack', 'provider');
    await market.pass(101);
    expect(await code(host.finalize(t, { ciphertextDigest, key }))).toBe('CHAIN_NOT_FINAL');
    await market.mine(70);
    await host.finalize(t, { ciphertextDigest, key });
    expect(await host.delivery.revealed(t)).toMatchObject({ key: to0x(key) });
  });

  it('S-L13 keeps a quarter of the reveal window on chains that can be congested', () => {
    const margins = (['local', 'opStack', 'arbitrum', 'l1'] as const).map((kind) =>
      revealMarginOf(chainSettings[kind], chainSettings[kind].answer),
    );
    expect(margins).toEqual([60, 6 * 3600, 9 * 3600, 6 * 3600]);
  });
});

describe('kinds of chains', () => {
  it('are told by the chain’s id, or by whoever knows', () => {
    expect([31337, 1, 8453, 42161].map((id) => chainKindOf(id))).toEqual(['local', 'l1', 'opStack', 'arbitrum']);
    expect(chainKindOf(999_999, 'opStack')).toBe('opStack');
    for (const [id, kind] of [
      [999_999, undefined],
      [1, 'local'],
    ] as const) {
      expect(() => chainKindOf(id, kind)).toThrow(expect.objectContaining({ code: 'CHAIN_KIND' }));
    }
  });

  it('S-M9 fall back on a block that is not forgotten before anybody may use it', () => {
    const history = 8191;
    for (const [kind, blockSeconds] of [
      ['opStack', 2],
      ['l1', 12],
    ] as const) {
      const { finality, sample } = chainSettings[kind];
      const end = (finality + sample!.draw) / blockSeconds;
      expect(sample!.drawBlocks).toBeGreaterThanOrEqual(end);
      expect(sample!.drawBlocks).toBeLessThan(end + history / 2);
    }
  });

  it('have windows that keep their own floors, and grow with the run', () => {
    for (const settings of Object.values(chainSettings)) {
      const { floors, answer, compute, challengeSealed, challengeUnsealed, prove, sample } = settings;
      const shortest = [answer, windowOf(compute, 0), challengeSealed, windowOf(challengeUnsealed, 0), prove];
      expect(Math.min(...shortest, sample?.draw ?? Infinity)).toBeGreaterThanOrEqual(floors.window);
      expect(sample?.drawBlocks ?? floors.drawBlocks).toBeGreaterThanOrEqual(floors.drawBlocks);
      expect(settings.finality).toBeGreaterThanOrEqual(floors.finality);
      expect(windowOf(compute, 10 * 24 * 3600)).toBe(30 * 24 * 3600);
    }
  });
});
