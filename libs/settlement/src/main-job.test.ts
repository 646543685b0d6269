/** The main job on a local chain: an attested enclave trains, seals, and its host is paid for the revealed key. */
import { createServer } from 'node:net';
import { parseEther, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keccak, to0x } from '#attestation/base';
import {
  availabilityDigest,
  chunkBytes,
  ciphertextDigest as digestOf,
  deliveryDigest,
  escrowIdOf,
  JobMode,
  keyCommitment,
  type Terms,
} from '#attestation/records';
import {
  enclaveKey,
  marketTerms,
  native,
  openMarket,
  releaseOf,
  revokeKey,
  sealedRun,
  sign,
  stolenKey,
  walletOf,
  type Market,
  type TermsChange,
} from '#test/escrow-market';
import type { Anvil } from './anvil.js';
import { openChainReader } from './chain-reader.js';
import { addressBytes, connect } from './chain.js';
import { SettlementClient } from './client.js';
import type { Deployment } from './deployment.js';
import { Indexer, MemoryEventStore } from './indexer.js';
import { Projection } from './projection.js';

let market: Market;
let anvil: Anvil;
let chain: JsonRpcProvider;
let deployment: Deployment;
let client: SettlementClient;
let host: SettlementClient;
const [clientWallet, hostWallet] = [walletOf('client'), walletOf('provider')];
const word = (n: number) => new Uint8Array(32).fill(n);
const revealKey = word(0x77);
const keyCommit = keyCommitment(revealKey);
const ciphertext = Uint8Array.of(1, 2, 3);
const ciphertextDigest = digestOf(ciphertext);
const delivery = deliveryDigest(ciphertextDigest, keyCommit);
const borders = [word(1), word(2), word(3), word(4)];
let salt = 0;

beforeAll(async () => {
  market = await openMarket();
  ({ anvil, chain, deployment } = market);
});
afterAll(async () => {
  await market?.stop();
});
beforeEach(() => {
  client = market.as('client');
  host = market.as('provider');
});

function terms(change: TermsChange = {}): Terms {
  return marketTerms({
    ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [], segments: 3, initialWeights: borders[0]! },
    ...{ seedCommitClient: keccak(word(++salt)), acceptBy: 4_000_000_000 },
    ...change,
    windows: { start: 60, compute: 600, challenge: 30, reveal: 600, ack: 30, ...change.windows },
  });
}

const release = (t: Terms, key = enclaveKey) => releaseOf(market, t, key);
const sealed = (t: Terms, key = enclaveKey) => sealedRun(market, t, borders, { delivery, key });

async function untilStarted(t: Terms): Promise<void> {
  await client.open(t);
  await host.accept(t);
  await host.start(t, release(t));
}

const pass = (seconds: number) => market.pass(seconds);

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );

describe('the main job', () => {
  it('pays the host for a sealed run and its revealed key, once', async () => {
    const t = terms();
    await untilStarted(t);
    await host.commit(t, sealed(t));
    expect((await client.job(t)).state).toBe('Committed');
    expect(await code(host.finalize(t, { ciphertextDigest, key: revealKey }))).toBe('TOO_EARLY');
    await pass(31);
    expect(await code(host.finalize(t, { ciphertextDigest, key: word(1) }))).toBe('DELIVERY_KEY');
    const paid = await host.finalize(t, { ciphertextDigest, key: revealKey });
    expect((await client.job(t)).state).toBe('Settled');
    expect(await client.delivery.revealed(t)).toMatchObject({ key: to0x(revealKey), txHash: paid.txHash });
    expect(await host.creditOf(hostWallet.address, native)).toBe(t.price);
    expect(await host.stakeOf(hostWallet.address, native)).toEqual({ free: t.stake, locked: 0n });
    expect(await chain.getBalance(deployment.settlement)).toBe(t.price + t.stake);
    const receiver = addressBytes(walletOf('challenger').address);
    const before = await chain.getBalance(walletOf('challenger').address);
    await host.withdraw(native, receiver);
    expect((await chain.getBalance(walletOf('challenger').address)) - before).toBe(t.price);
    expect(await host.withdraw(native)).toBeUndefined();
    expect(await chain.getBalance(deployment.settlement)).toBe(t.stake);
    expect(await host.finalize(t, { ciphertextDigest, key: revealKey })).toEqual(paid);
  });

  it('does nothing twice when each call is repeated by another process', async () => {
    const again = (): SettlementClient[] =>
      [clientWallet, hostWallet].map((w) => new SettlementClient(deployment, w.connect(chain)));
    const t = terms();
    const first = [await client.open(t), await host.accept(t), await host.start(t, release(t))];
    const [c, h] = again() as [SettlementClient, SettlementClient];
    expect([await c.open(t), await h.accept(t), await h.start(t, release(t))]).toEqual(first);
    const bound = await host.keys.bind(t, release(t, stolenKey));
    expect(await again()[1]!.keys.bind(t, release(t, stolenKey))).toEqual(bound);
    const committed = await host.commit(t, sealed(t));
    expect(await again()[1]!.commit(t, sealed(t))).toEqual(committed);
  });

  it('takes a seal of a bound key alone, made for this job', async () => {
    const t = terms();
    await untilStarted(t);
    expect(await code(host.commit(t, sealed(t, stolenKey)))).toBe('KEY_UNBOUND');
    expect(await code(host.commit(t, sealed({ ...t, specDigest: word(99) })))).toBe('SEAL_SIGNER');
    await host.keys.bind(t, release(t, stolenKey));
    const keys = [enclaveKey, stolenKey];
    await host.commit(t, sealedRun(market, t, borders, { delivery, key: stolenKey, others: [enclaveKey] }));
    const run = await client.committed(t);
    expect(run.keys.map(to0x).sort()).toEqual(keys.map(({ address }) => address.toLowerCase()).sort());
    expect(to0x(run.sealer)).toBe(stolenKey.address.toLowerCase());
    expect(run.borders).toEqual(borders);
  });

  it('gives both sides their money back when the data is never released', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    const { locked } = await host.stakeOf(hostWallet.address, native);
    await client.open(t);
    await host.accept(t);
    const other = { ...release(t), signature: release(terms()).signature };
    expect(await code(host.start(t, other))).toBe('SIGNATURE');
    expect(await code(host.abort(t))).toBe('TOO_EARLY');
    await pass(61);
    expect(await code(host.start(t, release(t)))).toBe('TOO_LATE');
    await host.abort(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price);
    expect((await host.stakeOf(hostWallet.address, native)).locked).toBe(locked);
  });

  it('pays the client the liveness of a host that never says a word, and only the price where the host resigns', async () => {
    const [silent, resigned] = [terms(), terms()];
    const before = await client.creditOf(clientWallet.address, native);
    await untilStarted(silent);
    await untilStarted(resigned);
    await host.resign(resigned);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(resigned.price);
    await pass(601);
    await client.abandon(silent);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(2n * silent.price + silent.liveness);
  });

  it('pays the client when the key is withheld', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    await untilStarted(t);
    await host.commit(t, sealed(t));
    expect(await code(client.undelivered(t))).toBe('TOO_EARLY');
    await pass(631);
    await client.undelivered(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price + t.liveness);
    expect(await code(host.finalize(t, { ciphertextDigest, key: revealKey }))).toBe('JOB_STATE');
  });

  it('answers a first complaint by Availability, the second by the pieces alone', async () => {
    const large = new Uint8Array(chunkBytes + 1).fill(5);
    const digest = digestOf(large);
    const t = terms({ windows: { ack: 300 } });
    await untilStarted(t);
    await host.commit(t, sealedRun(market, t, borders, { delivery: deliveryDigest(digest, keyCommit) }));
    await client.delivery.missing(t);
    const latest = await chain.getBlockNumber();
    expect((await client.job(t)).missing).toBe(true);
    expect((await client.job(t, latest - 1)).missing).toBe(false);
    const until = 4_000_000_000;
    const signature = sign(walletOf('broker'), availabilityDigest(host.domain, escrowIdOf(t), digest, until));
    const stranger = { until, signatures: [{ signer: addressBytes(clientWallet.address), signature }] };
    expect(await code(host.delivery.available(t, digest, keyCommit, stranger))).toBe('QUORUM_SIGNER');
    const said = { until, signatures: [{ signer: t.keyBroker, signature }] };
    const answered = await host.delivery.available(t, digest, keyCommit, said);
    expect(await host.delivery.available(t, digest, keyCommit, said)).toEqual(answered);
    expect(await client.job(t)).toMatchObject({ missing: false, available: true });
    await client.delivery.missing(t);
    expect(await code(host.delivery.available(t, digest, keyCommit, said))).toBe('DELIVERY_PUBLISH');
    expect(await code(host.delivery.published(t, digest, keyCommit))).toBe('PUBLISH_MISSING');
    expect(await host.delivery.publish(large)).toHaveLength(2);
    expect(await host.delivery.publish(large)).toHaveLength(0);
    expect(await host.delivery.isPublished(digest)).toBe(true);
    await host.delivery.published(t, digest, keyCommit);
    expect(await client.job(t)).toMatchObject({ missing: false, shown: true });
    await pass(31);
    await host.finalize(t, { ciphertextDigest: digest, key: revealKey });
    expect((await client.job(t)).state).toBe('Settled');
  });

  it('ends without a payment where a key behind the seal is revoked in the window', async () => {
    const t = terms();
    await untilStarted(t);
    await host.commit(t, sealed(t));
    const key = addressBytes(enclaveKey.address);
    expect(await code(client.keys.unseal(t, key))).toBe('KEY_LIVE');
    await revokeKey(market, t);
    await revokeKey(market, t);
    expect(await client.keys.standing(t, key)).toEqual({ isBound: true, isSealed: true, isRevoked: true });
    const { txHash } = await client.keys.unseal(t, key);
    expect((await client.keys.unseal(t, key)).txHash).toBe(txHash);
    const { locked } = await host.stakeOf(hostWallet.address, native);
    await client.finalize(t);
    expect((await client.job(t)).state).toBe('Unsealed');
    expect((await host.stakeOf(hostWallet.address, native)).locked).toBe(locked - t.stake);
  });

  it('returns the price of a job that is cancelled', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    await client.open(t);
    expect(await code(host.cancel(t))).toBe('CALLER');
    await client.cancel(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price);
    expect(await code(host.accept(t))).toBe('JOB_STATE');
  });

  it('says which account lacks the money', async () => {
    expect(await code(client.open(terms({ price: parseEther('1000000') })))).toBe('CHAIN_FUNDS');
  });
});

describe('the event projection', () => {
  const project = (store: MemoryEventStore) => {
    const projection = new Projection();
    for (const event of store.events) projection.apply(event);
    return projection;
  };
  const nativeName = '0x' + '00'.repeat(20);

  it('equals the chain, and again after a reorganisation three blocks deep', async () => {
    const store = new MemoryEventStore();
    const reader = openChainReader({ rpcUrl: anvil.url, chainId: anvil.chainId, contract: deployment.settlement });
    const indexer = new Indexer(reader, store, { startBlock: deployment.fromBlock, rangeBlocks: 7 });
    const t = terms();
    await untilStarted(t);
    await indexer.catchUp();
    const snapshot: string = await chain.send('evm_snapshot', []);
    await host.commit(t, sealed(t));
    await pass(31);
    await host.finalize(t, { ciphertextDigest, key: revealKey });
    await host.withdraw(native);
    await indexer.catchUp();
    const id = to0x(escrowIdOf(t));
    let projection = project(store);
    expect(projection.jobs.get(id)).toMatchObject({
      ...{ state: 'Settled', revealedKey: to0x(revealKey), last: to0x(borders[3]!) },
      ...{ sealedBy: enclaveKey.address, sealedKeys: [enclaveKey.address] },
    });
    expect(projection.owed(nativeName)).toBe(await chain.getBalance(deployment.settlement));
    expect(projection.creditOf(hostWallet.address, nativeName)).toBe(0n);

    await chain.send('evm_revert', [snapshot]);
    await pass(1);
    await pass(700);
    await pass(1);
    await client.abandon(t);
    await indexer.catchUp();
    projection = project(store);
    expect(projection.jobs.get(id)).toMatchObject({ state: 'Abandoned', revealedKey: null });
    expect(projection.owed(nativeName)).toBe(await chain.getBalance(deployment.settlement));
    expect(projection.stakeOf(hostWallet.address, nativeName)).toEqual(await host.stakeOf(hostWallet.address, native));
    const again = new MemoryEventStore();
    await new Indexer(reader, again, { startBlock: deployment.fromBlock }).catchUp();
    expect(again.events).toEqual(store.events);
    reader.close();
  });
});

describe('submission', () => {
  it('reprices a transaction that the blocks pass by, and ends with one', async () => {
    const hasty = new SettlementClient(deployment, clientWallet.connect(chain), { repriceAfterMs: 300 });
    const t = terms();
    await chain.send('evm_setAutomine', [false]);
    try {
      const opened = hasty.open(t);
      const pending = async (): Promise<string> =>
        ((await chain.send('eth_getBlockByNumber', ['pending', false])) as { transactions: string[] })
          .transactions[0] ?? '';
      await expect.poll(pending).toMatch(/^0x/);
      const first = await pending();
      await expect.poll(pending).not.toBe(first);
      await chain.send('evm_mine', []);
      const { txHash } = await opened;
      const receipt = await chain.getTransactionReceipt(txHash);
      expect(receipt?.status).toBe(1);
      expect(receipt!.gasPrice).toBeGreaterThan((await chain.getBlock(receipt!.blockNumber))!.baseFeePerGas! + 1n);
    } finally {
      await chain.send('evm_setAutomine', [true]);
    }
    expect((await client.job(t)).state).toBe('Open');
  });

  it('sends several transactions of one account at once', async () => {
    const all = [terms(), terms(), terms()];
    const receipts = await Promise.all(all.map((t) => client.open(t)));
    expect(new Set(receipts.map(({ txHash }) => txHash)).size).toBe(3);
  });

  describe('when a reorganisation takes back what a waiting transaction stands on', () => {
    /** Opens a job that no block takes, and takes back the block of the transaction before it. */
    async function cutOff(
      sender: SettlementClient,
    ): Promise<{ readonly opened: Promise<unknown>; readonly job: Terms }> {
      const snapshot: unknown = await chain.send('evm_snapshot', []);
      await client.open(terms());
      await chain.send('evm_setAutomine', [false]);
      const job = terms();
      const opened = sender.open(job);
      opened.catch(() => undefined);
      await expect.poll(() => chain.send('txpool_status', [])).toMatchObject({ pending: '0x1' });
      await chain.send('evm_revert', [snapshot]);
      await chain.send('evm_setAutomine', [true]);
      return { opened, job };
    }

    it('the next one takes the place below, and both enter a block', async () => {
      const { opened, job } = await cutOff(client);
      await client.open(terms());
      await opened;
      expect((await client.job(job)).state).toBe('Open');
    });

    it('says so in time where no other comes, and the next attempt succeeds', async () => {
      const hasty = { repriceAfterMs: 300, repricings: 50 };
      const { opened, job } = await cutOff(new SettlementClient(deployment, clientWallet.connect(chain), hasty));
      expect(await code(opened)).toBe('CHAIN_REPLACED');
      await client.open(job);
      expect((await client.job(job)).state).toBe('Open');
    });
  });

  it('gives up on a transaction that no block takes', async () => {
    const hasty = new SettlementClient(deployment, clientWallet.connect(chain), { repriceAfterMs: 100, repricings: 1 });
    await chain.send('evm_setAutomine', [false]);
    try {
      expect(await code(hasty.open(terms()))).toBe('CHAIN_STUCK');
    } finally {
      await chain.send('evm_mine', []);
      await chain.send('evm_setAutomine', [true]);
    }
  });

  it('does not wait for ever on a chain that takes connections and says nothing', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    const mute = connect(`http://127.0.0.1:${port}`, anvil.chainId, 25, 100);
    try {
      const lost = new SettlementClient(deployment, clientWallet.connect(mute));
      expect(await code(lost.job(terms()))).toBe('CHAIN_UNREACHABLE');
    } finally {
      mute.destroy();
      silent.close();
    }
  });

  it('says that the chain does not answer', async () => {
    const nowhere = connect('http://127.0.0.1:9', anvil.chainId, 25);
    const lost = new SettlementClient(deployment, clientWallet.connect(nowhere));
    expect(await code(lost.job(terms()))).toBe('CHAIN_UNREACHABLE');
    nowhere.destroy();
  });
});
