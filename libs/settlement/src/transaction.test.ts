/** One transaction through endpoints that name their own price, lag behind themselves, and refuse in words of their own. */
import { parseEther, parseUnits, Transaction, type JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { fromHex } from '#attestation/base';
import { marketTerms, native, openMarket, walletOf, type Market } from '#test/escrow-market';
import { startFaultyRpc, type FaultyRpc } from '#test/faulty-rpc';
import { turnSteadyTime } from '#test/steady-time';
import { Calls, type ClientOptions, type TxReceipt } from './calls.js';
import { chainKinds, chainSettings } from './chain-kinds.js';
import { checksummed, connect } from './chain.js';
import { SettlementClient } from './client.js';
import { deploy } from './deploy.js';
import { anchorCheckpoint, anchorOrigin, deployLogAnchors } from './log-anchors.js';
import { sendRoleCall } from './roles.js';

let market: Market;
let proxy: FaultyRpc;
let rpc: JsonRpcProvider;
beforeAll(async () => {
  market = await openMarket();
  proxy = await startFaultyRpc(market.anvil.url);
  rpc = connect(proxy.url, market.anvil.chainId, 20);
});
afterEach(() => void Object.assign(proxy, { strike: () => null, speak: (_: unknown, pass: () => unknown) => pass() }));
afterAll(async () => {
  rpc?.destroy();
  await proxy?.stop();
  await market?.stop();
});

const me = walletOf('challenger');
function deposit(amount: bigint, options: ClientOptions = {}): Promise<TxReceipt> {
  const calls = new Calls(market.deployment, me.connect(rpc), options);
  return calls.send('depositStake', () =>
    calls.settlement.depositStake.populateTransaction(checksummed(native), amount, { value: amount }),
  );
}
const free = async (): Promise<bigint> => (await market.as('challenger').stakeOf(me.address, native)).free;
const gwei = (text: string): bigint => parseUnits(text, 'gwei');

describe('an endpoint that names its own price', () => {
  const tipOf = (tip: bigint): void => {
    proxy.speak = async ({ method }, pass) =>
      method === 'eth_maxPriorityFeePerGas' ? { result: `0x${tip.toString(16)}` } : pass();
  };
  const dear = gwei('30000000');

  it('is not paid, and is told which setting would', async () => {
    tipOf(dear);
    const before = await market.chain.getBalance(me.address);
    await expect(deposit(1n)).rejects.toMatchObject({
      code: 'CHAIN_FEES',
      detail: {
        expected: `gas at ${gwei('2000')} wei or less, a tip of ${gwei('200')} wei or less in it`,
        got: expect.stringContaining(`a tip of ${dear} wei in it`),
        action: expect.stringContaining('chain.feePerGasMaxWei'),
      },
    });
    expect(await market.chain.getBalance(me.address)).toBe(before);
  });

  it('may name a tenth of the cap as its tip, and no more', async () => {
    tipOf(gwei('1') + 1n);
    const capped = { feePerGasMaxWei: gwei('10') };
    await expect(deposit(1n, capped)).rejects.toMatchObject({ code: 'CHAIN_FEES' });
    tipOf(gwei('1'));
    await deposit(1n, capped);
  });

  it('gets no more by hiding the base fee, which makes the whole price a tip', async () => {
    proxy.speak = async ({ method }, pass) => {
      if (method === 'eth_gasPrice') return { result: `0x${gwei('201').toString(16)}` };
      const answer = await pass();
      if (method !== 'eth_getBlockByNumber') return answer;
      const { baseFeePerGas: _, ...block } = answer.result as Record<string, unknown>;
      return { result: block };
    };
    await expect(deposit(1n)).rejects.toMatchObject({ code: 'CHAIN_FEES' });
  });

  it('is paid where whoever pays says so', async () => {
    tipOf(gwei('2'));
    await expect(deposit(1n, { feePerGasMaxWei: gwei('10') })).rejects.toMatchObject({
      code: 'CHAIN_FEES',
    });
    const before = await free();
    await deposit(1n, { feePerGasMaxWei: gwei('20') });
    expect(await free()).toBe(before + 1n);
  });

  it('is not paid by deployers, roles and anchors either', async () => {
    tipOf(dear);
    const deployer = walletOf('deployer').connect(rpc);
    const refused = { code: 'CHAIN_FEES' };
    await expect(deploy(deployer, { salt: `0x${'77'.repeat(32)}` })).rejects.toMatchObject(refused);
    await expect(sendRoleCall(deployer, market.deployment, { call: 'pause' })).rejects.toMatchObject(refused);
    await expect(deployLogAnchors(deployer)).rejects.toMatchObject(refused);
    const checkpoint = { origin: anchorOrigin('log.example'), size: 1, root: fromHex('11'.repeat(32)) };
    const contract = await deployLogAnchors(walletOf('deployer').connect(market.chain));
    await expect(anchorCheckpoint(deployer, contract, checkpoint)).rejects.toMatchObject(refused);
    // Whoever calls says what raises its cap, with a cap on the sum and without one.
    for (const feeMaxWei of [undefined, 1n]) {
      const anchored = anchorCheckpoint(deployer, contract, checkpoint, { feeMaxWei, feeSetting: 'what it is called' });
      await expect(anchored).rejects.toMatchObject({
        ...refused,
        detail: { action: expect.stringMatching(/raise what it is called$/) },
      });
    }
  });

  it('has a cap on every kind of chain', () => {
    for (const kind of chainKinds) {
      // A call of the greatest gas, at the greatest tip.
      const lost = (chainSettings[kind].feePerGasMaxWei / 10n) * 16_777_216n;
      expect(lost).toBeGreaterThan(0n);
      expect(lost).toBeLessThan(parseEther('4'));
    }
  });
});

/** No block takes anything meanwhile. */
async function withoutBlocks(work: () => Promise<void>): Promise<void> {
  await market.chain.send('evm_setAutomine', [false]);
  try {
    await work();
  } finally {
    await market.chain.send('evm_mine', []);
    await market.chain.send('evm_setAutomine', [true]);
  }
}

describe('an endpoint of several nodes', () => {
  it('may know a nonce as taken before it has the receipt', async () => {
    let minedAt = Infinity;
    proxy.speak = async ({ method }, pass) => {
      const answer = await pass();
      if (method !== 'eth_getTransactionReceipt' || answer.result === null) return answer;
      minedAt = Math.min(minedAt, performance.now());
      return performance.now() - minedAt < 1_500 ? { result: null } : answer;
    };
    const before = await free();
    await deposit(5n);
    expect(await free()).toBe(before + 5n);
  });

  it('is believed in the end that another transaction took the nonce', async () => {
    proxy.speak = async ({ method }, pass) => (method === 'eth_getTransactionReceipt' ? { result: null } : pass());
    await expect(deposit(5n)).rejects.toMatchObject({ code: 'CHAIN_REPLACED' });
  });

  it('may be behind with the account’s earlier transactions', async () => {
    await withoutBlocks(async () => {
      const nonce = await market.chain.getTransactionCount(me.address);
      let behindUntil = Infinity;
      proxy.speak = async ({ method, params }, pass) => {
        if (method === 'eth_sendRawTransaction') behindUntil = Math.min(behindUntil, performance.now() + 1_500);
        const isBehind = behindUntil < Infinity && performance.now() < behindUntil;
        const isAsked = method === 'eth_getTransactionCount' && params[1] === 'pending';
        return isAsked && isBehind ? { result: `0x${(nonce - 1).toString(16)}` } : pass();
      };
      const before = await free();
      const deposited = deposit(5n, { repriceAfterMs: 100, repricings: 1_000 });
      deposited.catch(() => undefined);
      await expect.poll(() => performance.now() > behindUntil).toBe(true);
      await market.chain.send('evm_mine', []);
      await deposited;
      expect(await free()).toBe(before + 5n);
    });
  });
});

describe('a call that the contract refuses', () => {
  it('is told so where an earlier transaction of the account is stuck, too', async () => {
    const wait = turnSteadyTime();
    try {
      proxy.speak = async ({ method, params }, pass) => {
        const answer = await pass();
        if (method !== 'eth_getTransactionCount' || params[1] !== 'pending') return answer;
        wait(61);
        return { result: `0x${(Number(answer.result) + 1).toString(16)}` };
      };
      const client = new SettlementClient(market.deployment, me.connect(rpc));
      await expect(client.cancel(marketTerms({ segments: 2 }))).rejects.toMatchObject({ code: 'JOB_STATE' });
    } finally {
      vi.restoreAllMocks();
    }
  });
});

describe('a node that refuses every replacement', () => {
  it('is offered more each time, and given up', async () => {
    await withoutBlocks(async () => {
      const sent = new Map<string, bigint>();
      proxy.speak = async ({ method, params }, pass) => {
        if (method !== 'eth_sendRawTransaction') return pass();
        const { hash, maxFeePerGas } = Transaction.from(params[0]!);
        sent.set(hash!, maxFeePerGas!);
        if (sent.size === 1) return pass();
        return { error: { code: -32000, message: 'replacement transaction underpriced' } };
      };
      const hasty = { repriceAfterMs: 60, repricings: 3 };
      await expect(deposit(9n, hasty)).rejects.toMatchObject({ code: 'CHAIN_STUCK' });
      const [first, ...replacements] = sent.values();
      expect(replacements.length).toBe(3);
      expect(replacements.at(-1)!).toBeGreaterThan((first! * 19n) / 10n);
    });
  });
});

describe('a node that has the transaction, whose first answer was lost', () => {
  it.each([
    ['Nethermind', 'AlreadyKnown'],
    ['Besu', 'Known transaction'],
    ['a node with words of its own', 'we have seen this one'],
  ])('is understood where it is %s', async (_, message) => {
    proxy.strike = ({ isNewTransaction }) => (isNewTransaction ? 'lose answer' : null);
    proxy.speak = async ({ method }, pass) => {
      const answer = await pass();
      const isRefused = method === 'eth_sendRawTransaction' && answer.error !== undefined;
      return isRefused ? { error: { code: -32010, message } } : answer;
    };
    const before = await free();
    await deposit(7n);
    expect(await free()).toBe(before + 7n);
  });

  it('is not taken to have one that it refused', async () => {
    proxy.speak = async ({ method }, pass) =>
      method === 'eth_sendRawTransaction' ? { error: { code: -32000, message: 'unknown transaction type' } } : pass();
    const before = await free();
    await expect(deposit(7n)).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    expect(await free()).toBe(before);
  });
});

describe('a transaction that runs out of gas', () => {
  it('is told so with its limit, once a block has it', async () => {
    const estimate = 25_000;
    proxy.speak = async ({ method }, pass) =>
      method === 'eth_estimateGas' ? { result: `0x${estimate.toString(16)}` } : pass();
    const limit = (estimate * 6) / 5;
    await expect(deposit(7n)).rejects.toMatchObject({
      code: 'CHAIN_GAS',
      detail: {
        got: `reverted, out of gas: ${limit} of ${limit} used`,
        action: expect.stringContaining('estimated anew'),
      },
    });
  });

  it.each([
    ['Geth', 'gas required exceeds allowance (16777216)'],
    ['Geth, of a call', 'out of gas'],
    ['Anvil', 'Out of gas: gas required exceeds allowance: 16777216'],
    ['Reth', 'out of gas: gas required exceeds: 16777216'],
    ['a node that tells the exception of its machine', 'EVM error OutOfGas'],
  ])('is told so where %s refuses to estimate it, at the first answer', async (_, message) => {
    let asked = 0;
    proxy.speak = async ({ method }, pass) => {
      if (method !== 'eth_estimateGas') return pass();
      asked += 1;
      return { error: { code: -32000, message } };
    };
    await expect(deposit(7n)).rejects.toMatchObject({
      code: 'CHAIN_GAS',
      detail: { expected: expect.stringContaining('16777216'), got: message },
    });
    expect(asked).toBe(1);
  });

  it('is told so where the chain has no transaction of so much', async () => {
    proxy.speak = async ({ method }, pass) =>
      method === 'eth_estimateGas' ? { result: `0x${(20_000_000).toString(16)}` } : pass();
    await expect(deposit(7n)).rejects.toMatchObject({ code: 'CHAIN_GAS' });
  });
});
