/** A local chain with the contracts on it, and the parties of its escrows. */
import { HDNodeWallet, keccak256, parseEther, Wallet, type JsonRpcProvider } from 'ethers';
import { concatBytes, fromHex, keccak, to0x, utf8 } from '#attestation/base';
import {
  bordersRoot,
  escrowIdOf,
  JobMode,
  releaseDigest,
  revocationDigest,
  runDigest,
  runKeysDigest,
  runKeysOf,
  teeSelector,
  type Release,
  type Terms,
} from '#attestation/records';
import {
  addressBytes,
  connect,
  deploy,
  Indexer,
  MemoryEventStore,
  openChainReader,
  Projection,
  SettlementClient,
  startAnvil,
  testMnemonic,
  zkSelector,
  type Anvil,
  type CommittedRun,
  type Deployment,
  type DeployOptions,
  type SignedRelease,
} from '#libs/settlement';

const roles = ['deployer', 'client', 'provider', 'broker', 'challenger', 'treasury'] as const;
export type Role = (typeof roles)[number];
export type Money = Record<'client' | 'provider' | 'challenger' | 'treasury', bigint>;

export const native = new Uint8Array(20);
const zeroWord = new Uint8Array(32);
export const seedClient = keccak(utf8('test seed of the client'));
export const seedProvider = keccak(utf8('test seed of the provider'));
const policy = keccak(utf8('test policy'));
/** Stand for keys of enclave sessions that the broker has released a data key to. */
export const enclaveKey = new Wallet(keccak256('0x7465737400'));
export const stolenKey = new Wallet(keccak256('0x7465737401'));

type Signing = { readonly signingKey: Wallet['signingKey'] };
export const sign = (key: Signing, digest: Uint8Array): Uint8Array => fromHex(key.signingKey.sign(digest).serialized);

export function walletOf(role: Role): HDNodeWallet {
  return HDNodeWallet.fromPhrase(testMnemonic, undefined, `m/44'/60'/0'/0/${roles.indexOf(role)}`);
}

export interface Market {
  readonly anvil: Anvil;
  readonly chain: JsonRpcProvider;
  readonly deployment: Deployment;
  as(role: Role): SettlementClient;
  /** The chain's clock goes on by this much. */
  pass(seconds: number): Promise<void>;
  mine(blocks: number): Promise<void>;
  /** Credits and stakes of the parties, gas left aside. */
  money(): Promise<Money>;
  /** What the contract holds and what it owes by its events: the same. */
  conserved(): Promise<{ holds: bigint; owes: bigint }>;
  stop(): Promise<void>;
}

/** @param genesisTime  unix seconds of the chain's first block; absent: now */
export async function openMarket(options: DeployOptions = {}, genesisTime?: number): Promise<Market> {
  const anvil = await startAnvil(genesisTime === undefined ? {} : { genesisTime });
  const chain = connect(anvil.url, anvil.chainId, 20);
  const deployment = await deploy(walletOf('deployer').connect(chain), {
    treasury: walletOf('treasury').address,
    ...options,
  });
  const as = (role: Role): SettlementClient => new SettlementClient(deployment, walletOf(role).connect(chain));
  const { chainId } = anvil;
  const reader = openChainReader({ rpcUrl: anvil.url, chainId, contract: deployment.settlement });
  const wealth = async (role: Role): Promise<bigint> => {
    const { address } = walletOf(role);
    const { free, locked } = await as(role).stakeOf(address, native);
    return (await as(role).creditOf(address, native)) + free + locked;
  };
  return {
    ...{ anvil, chain, deployment, as },
    async pass(seconds) {
      await chain.send('evm_increaseTime', [seconds]);
      await chain.send('evm_mine', []);
    },
    mine: async (blocks) => void (await chain.send('anvil_mine', [`0x${blocks.toString(16)}`])),
    async money() {
      const [client, provider, challenger, treasury] = await Promise.all(
        (['client', 'provider', 'challenger', 'treasury'] as const).map(wealth),
      );
      return { client: client!, provider: provider!, challenger: challenger!, treasury: treasury! };
    },
    async conserved() {
      const store = new MemoryEventStore();
      await new Indexer(reader, store, { startBlock: deployment.fromBlock }).catchUp();
      const projection = new Projection();
      for (const event of store.events) projection.apply(event);
      return { holds: await chain.getBalance(deployment.settlement), owes: projection.owed(to0x(native)) };
    },
    async stop() {
      reader.close();
      chain.destroy();
      await anvil.stop();
    },
  };
}

const none = { finality: 0, draw: 0, prove: 0, provePer: 0, hold: 0, reveal: 0, ack: 0, drawBlocks: 0 };
/** Seconds; long enough that no machine is too slow for them, since only `pass` makes them end. */
export const window = 10_000;
export const duties = { draw: window, drawBlocks: 32, prove: window, provePer: window };

export type TermsChange = Omit<Partial<Terms>, 'windows'> & { readonly windows?: Partial<Terms['windows']> };

/** One ether for the run, six tenths at stake. */
export function marketTerms(change: TermsChange): Terms {
  const attested = ((change.mode ?? 0) & JobMode.tee) !== 0;
  const isRevealed = ((change.mode ?? 0) & JobMode.reveal) !== 0;
  return {
    client: addressBytes(walletOf('client').address),
    provider: addressBytes(walletOf('provider').address),
    keyBroker: addressBytes(walletOf('broker').address),
    ...{ token: native, specDigest: zeroWord, initialWeights: zeroWord, snpPolicy: zeroWord, planDigest: zeroWord },
    ...{ attestors: [], needed: 0, unit: 0, unitSegments: 1, parts: 1, providers: zeroWord },
    policy: attested ? policy : zeroWord,
    teeSelector,
    dutySelectors: [zkSelector],
    ...{ price: parseEther('1'), stake: parseEther('0.6'), liveness: parseEther('0.05') },
    ...{ bond: parseEther('0.1'), bondFee: parseEther('0.01'), failShareBps: 5000 },
    ...{ publishFee: parseEther('0.02'), holdbackBps: isRevealed ? 10_000 : 1000 },
    ...{ segments: 1, samples: 0, mode: JobMode.full, seedCommitClient: keccak(seedClient), acceptBy: 2 ** 39 },
    ...change,
    windows: { start: window, compute: window, challenge: window, ...none, ...change.windows },
  };
}

/** The broker's word that a session with this key may work on the job; without a key, that a prover may. */
export function releaseOf(
  market: Pick<Market, 'as'>,
  terms: Terms,
  key: Wallet | null,
  change: Partial<Release> = {},
): SignedRelease {
  const release: Release = {
    ...{ job: escrowIdOf(terms), provider: terms.provider, dataset: zeroWord, policy: terms.policy },
    session: key === null ? zeroWord : keccak(utf8(`test session of ${key.address}`)),
    key: key === null ? native : addressBytes(key.address),
    ...{ evidence: policy, grant: zeroWord, nonce: zeroWord, grantedAt: 0, notAfter: 2 ** 39 },
    ...change,
  };
  return { release, signature: sign(walletOf('broker'), releaseDigest(market.as('provider').domain, release)) };
}

/** From the client's money to a provider who owes a run; a key is bound where the job may be sealed. */
export async function engage(market: Market, terms: Terms, key = enclaveKey): Promise<void> {
  await market.as('client').open(terms);
  await market.as('provider').accept(terms, keccak(seedProvider));
  const isAttested = (terms.mode & JobMode.tee) !== 0;
  await market.as('provider').start(terms, releaseOf(market, terms, isAttested ? key : null));
}

export function runOf(borders: readonly Uint8Array[], change: Partial<CommittedRun> = {}): CommittedRun {
  const none = { seedProvider: zeroWord, delivery: zeroWord, keys: [], seal: new Uint8Array() };
  return { outcome: 0, borders, ...none, ...change };
}

interface Sealing {
  readonly delivery?: Uint8Array;
  readonly key?: Wallet;
  /** Keys behind the borders beside the one that seals. */
  readonly others?: readonly Wallet[];
  readonly outcome?: CommittedRun['outcome'];
}

/** The run under the seal of a session's key. */
export function sealedRun(
  market: Market,
  terms: Terms,
  borders: readonly Uint8Array[],
  { delivery = zeroWord, key = enclaveKey, others = [], outcome = 0 }: Sealing = {},
): CommittedRun {
  const keys = runKeysOf([key, ...others].map(({ address }) => addressBytes(address)));
  const run = {
    ...{ job: escrowIdOf(terms), upTo: borders.length - 1, outcome: outcome as 0 },
    ...{ bordersRoot: bordersRoot(borders), last: borders.at(-1)!, delivery, keys: runKeysDigest(keys) },
  };
  const signature = sign(key, runDigest(market.as('provider').domain, run));
  return runOf(borders, { outcome, delivery, keys, seal: concatBytes(teeSelector, signature) });
}

/** The broker ends a session's key for this job. */
export async function revokeKey(market: Market, terms: Terms, enclave = enclaveKey): Promise<void> {
  const broker = market.as('broker');
  const key = addressBytes(enclave.address);
  const signature = sign(walletOf('broker'), revocationDigest(broker.domain, escrowIdOf(terms), key, zeroWord));
  await broker.keys.revoke(terms, key, zeroWord, [{ signer: terms.keyBroker, signature }]);
}
