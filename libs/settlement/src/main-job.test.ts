/** The main job on a local chain: an attested enclave trains, seals, and its host is paid for the revealed key. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { HDNodeWallet, Wallet, keccak256, parseEther } from 'ethers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  JobMode,
  appraisalDigest,
  availabilityDigest,
  bordersRoot,
  concatBytes,
  deliveryDigest,
  enclaveKeyWord,
  fromHex,
  releaseDigest,
  jobDigest,
  runDigest,
  teeSelector,
  type Terms,
} from '#attestation';
import { startAnvil, testMnemonic, type Anvil } from './anvil.js';
import { addressBytes, connect, hex } from './chain.js';
import { SettlementClient, type CommittedRun } from './client.js';
import { deploy } from './deploy.js';
import type { Deployment } from './deployment.js';
import { openChainReader } from './chain-reader.js';
import { Indexer, MemoryEventStore } from './indexer.js';
import { Projection } from './projection.js';
import type { JsonRpcProvider } from 'ethers';

let anvil: Anvil;
let chain: JsonRpcProvider;
let deployment: Deployment;
const wallet = (index: number) => HDNodeWallet.fromPhrase(testMnemonic, undefined, `m/44'/60'/0'/0/${index}`);
const [clientWallet, hostWallet, brokerWallet] = [wallet(1), wallet(2), wallet(3)];
const enclaveKey = new Wallet(keccak256('0x7465737400')); // a test key
const native = new Uint8Array(20);
const word = (n: number) => new Uint8Array(32).fill(n);
const sign = (key: { signingKey: Wallet['signingKey'] }, digest: Uint8Array) =>
  fromHex(key.signingKey.sign(digest).serialized);
const policy = word(9);
const revealKey = word(0x77);
const ciphertextDigest = word(0x55);
const borders = [word(1), word(2), word(3), word(4)];
let salt = 0;

beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 25);
  deployment = await deploy(wallet(0).connect(chain), {
    attestors: [brokerWallet.address],
    threshold: 1,
    treasury: wallet(9).address,
  });
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

const as = (w: HDNodeWallet) => new SettlementClient(deployment, w.connect(chain));
let client: SettlementClient;
let host: SettlementClient;

function terms(change: Partial<Terms> = {}): Terms {
  return {
    client: addressBytes(clientWallet.address),
    provider: addressBytes(hostWallet.address),
    keyBroker: addressBytes(brokerWallet.address),
    token: native,
    specDigest: word(7),
    initialWeights: borders[0]!,
    policy,
    minTier: 1,
    teeSelector,
    dutySelectors: [],
    price: parseEther('1'),
    stake: parseEther('0.5'),
    liveness: parseEther('0.05'),
    bond: 1000n,
    bondFee: 100n,
    failShareBps: 5000,
    holdbackBps: 1000,
    segments: 3,
    samples: 0,
    mode: JobMode.tee | JobMode.reveal,
    seedCommitClient: fromHex(keccak256(word(++salt))),
    acceptBy: 4_000_000_000,
    windows: { start: 60, compute: 600, draw: 0, challenge: 0, prove: 0, provePer: 0, hold: 0, reveal: 600, ack: 0 },
    ...change,
  };
}

function release(t: Terms, signer = brokerWallet) {
  const content = { enclaveKey: enclaveKeyWord(addressBytes(enclaveKey.address)), shardsDigest: word(8) };
  const digest = releaseDigest(client.domain, { job: jobDigest(t), ...content });
  return { ...content, signer: addressBytes(signer.address), signature: sign(signer, digest) };
}

function sealedRun(t: Terms, key: Wallet = enclaveKey, digest = ciphertextDigest): CommittedRun {
  const delivery = deliveryDigest(digest, fromHex(keccak256(revealKey)));
  const run = {
    job: jobDigest(t),
    upTo: 3,
    outcome: 0 as const,
    bordersRoot: bordersRoot(borders),
    last: borders[3]!,
    delivery,
  };
  const seal = concatBytes(teeSelector, sign(key, runDigest(host.domain, run)));
  return { outcome: 0, borders, seedProvider: word(0), delivery, seal };
}

async function register(key = enclaveKey, evidence = word(++salt), notAfter = 4_000_000_000) {
  const appraisal = {
    key: addressBytes(key.address),
    policy,
    provider: addressBytes(hostWallet.address),
    evidence,
    notAfter,
  };
  return host.registerEnclave(appraisal, [sign(brokerWallet, appraisalDigest(host.registryDomain, appraisal))]);
}

async function untilStarted(t: Terms): Promise<void> {
  await client.open(t);
  await host.accept(t);
  await host.start(t, release(t));
}

async function pass(seconds: number): Promise<void> {
  await chain.send('evm_increaseTime', [seconds]);
  await chain.send('evm_mine', []);
}

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );

beforeEach(() => {
  client = as(clientWallet);
  host = as(hostWallet);
});

describe('the main job', () => {
  it('pays the host for a sealed run and its revealed key, once', async () => {
    const t = terms();
    await register();
    await untilStarted(t);
    await host.commit(t, sealedRun(t));
    expect((await client.job(t)).state).toBe('Committed');
    expect(await code(host.finalize(t, { ciphertextDigest, key: word(1) }))).toBe('DELIVERY_KEY');
    const paid = await host.finalize(t, { ciphertextDigest, key: revealKey });
    expect((await client.job(t)).state).toBe('Settled');
    expect(await host.creditOf(hostWallet.address, native)).toBe(t.price);
    expect(await host.stakeOf(hostWallet.address, native)).toEqual({ free: t.stake, locked: 0n });
    expect(await chain.getBalance(deployment.settlement)).toBe(t.price + t.stake);
    await host.withdraw(native);
    expect(await host.withdraw(native)).toBeUndefined();
    expect(await chain.getBalance(deployment.settlement)).toBe(t.stake);
    expect(await host.finalize(t, { ciphertextDigest, key: revealKey })).toEqual(paid);
  });

  it('does nothing twice when each call is repeated by another process', async () => {
    const t = terms();
    const first = [await client.open(t), await host.accept(t), await host.start(t, release(t))];
    const again = [
      await as(clientWallet).open(t),
      await as(hostWallet).accept(t),
      await as(hostWallet).start(t, release(t)),
    ];
    expect(again).toEqual(first);
    await register();
    const committed = await host.commit(t, sealedRun(t));
    expect(await as(hostWallet).commit(t, sealedRun(t))).toEqual(committed);
  });

  it('refuses a seal of a key that no attestor registered, and a seal made for another job', async () => {
    const t = terms();
    const stranger = new Wallet(keccak256('0x7465737401'));
    await untilStarted(t);
    expect(await code(host.commit(t, sealedRun(t, stranger)))).toBe('ENCLAVE_UNKNOWN');
    const other = sealedRun({ ...t, specDigest: word(99) });
    expect(await code(host.commit(t, other))).toBe('ENCLAVE_UNKNOWN');
  });

  it('gives both sides their money back when the data is never released', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    const { locked } = await host.stakeOf(hostWallet.address, native);
    await client.open(t);
    await host.accept(t);
    expect(await code(host.start(t, { ...release(t), shardsDigest: word(3) }))).toBe('SIGNATURE');
    expect(await code(host.abort(t))).toBe('TOO_EARLY');
    await pass(61);
    expect(await code(host.start(t, release(t)))).toBe('TOO_LATE');
    await host.abort(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price);
    expect((await host.stakeOf(hostWallet.address, native)).locked).toBe(locked);
  });

  it('pays the client the liveness of a host that never delivers a run', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    await untilStarted(t);
    await pass(601);
    await client.abandon(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price + t.liveness);
  });

  it('pays the client when the key is withheld', async () => {
    const t = terms();
    const before = await client.creditOf(clientWallet.address, native);
    await register();
    await untilStarted(t);
    await host.commit(t, sealedRun(t));
    expect(await code(client.undelivered(t))).toBe('TOO_EARLY');
    await pass(601);
    await client.undelivered(t);
    expect((await client.creditOf(clientWallet.address, native)) - before).toBe(t.price + t.liveness);
    expect(await code(host.finalize(t, { ciphertextDigest, key: revealKey }))).toBe('JOB_STATE');
  });

  it('lets a host show a ciphertext that the client misses, by its attestors or on chain', async () => {
    const ciphertext = Uint8Array.of(1, 2, 3);
    const digest = new Uint8Array(createHash('sha256').update(ciphertext).digest());
    const keyCommit = fromHex(keccak256(revealKey));
    const delivery = deliveryDigest(digest, keyCommit);
    await register();
    for (const way of ['available', 'publish'] as const) {
      const windows = { ...terms().windows, ack: 300 };
      const t = terms({ windows });
      await untilStarted(t);
      await host.commit(t, sealedRun(t, enclaveKey, digest));
      expect(await client.job(t)).toMatchObject({ missing: false, delivery: hex(delivery) });
      await client.missing(t);
      const latest = await chain.getBlockNumber();
      expect((await client.job(t)).missing).toBe(true);
      expect((await client.job(t, latest - 1)).missing).toBe(false);
      expect(await code(host.publish(t, keyCommit, Uint8Array.of(9)))).toBe('DELIVERY_KEY');
      const signed = (signer: HDNodeWallet) => [
        sign(signer, availabilityDigest(host.registryDomain, jobDigest(t), digest)),
      ];
      expect(await code(host.available(t, digest, keyCommit, signed(clientWallet)))).toBe('QUORUM_SIGNER');
      const answer = () =>
        way === 'available'
          ? host.available(t, digest, keyCommit, signed(brokerWallet))
          : host.publish(t, keyCommit, ciphertext);
      const answered = await answer();
      expect((await client.job(t)).missing).toBe(false);
      expect(await answer()).toEqual(answered);
      await host.finalize(t, { ciphertextDigest: digest, key: revealKey });
      expect((await client.job(t)).state).toBe('Settled');
    }
  });

  it('tells beforehand whether a key can be registered', async () => {
    const appraisal = {
      key: addressBytes(enclaveKey.address),
      policy,
      provider: addressBytes(hostWallet.address),
      evidence: word(200),
      notAfter: 4_000_000_000,
    };
    const signed = (signer: HDNodeWallet) => [sign(signer, appraisalDigest(host.registryDomain, appraisal))];
    const before = await chain.getTransactionCount(hostWallet.address);
    expect(await code(host.checkRegistration(appraisal, signed(clientWallet)))).toBe('QUORUM_SIGNER');
    expect(await code(host.checkRegistration(appraisal, signed(brokerWallet)))).toBe('done');
    expect(await chain.getTransactionCount(hostWallet.address)).toBe(before);
    await host.registerEnclave(appraisal, signed(brokerWallet));
    expect(await code(host.checkRegistration(appraisal, signed(brokerWallet)))).toBe('done');
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
    await register();
    await untilStarted(t);
    await indexer.catchUp();
    const snapshot: string = await chain.send('evm_snapshot', []);
    await host.commit(t, sealedRun(t));
    await host.finalize(t, { ciphertextDigest, key: revealKey });
    await host.withdraw(native);
    await indexer.catchUp();
    const id = hex(jobDigest(t));
    let projection = project(store);
    expect(projection.jobs.get(id)).toMatchObject({ state: 'Settled', tier: 1, revealedKey: hex(revealKey) });
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
