/** A local chain with the contracts on it, and the parties of its escrows. */
import { HDNodeWallet, keccak256, parseEther, Wallet, type JsonRpcProvider } from 'ethers';
import {
  appraisalDigest,
  bordersRoot,
  concatBytes,
  enclaveKeyWord,
  fromHex,
  jobDigest,
  JobMode,
  keccak,
  releaseDigest,
  revocationDigest,
  runDigest,
  teeSelector,
  toHex,
  utf8,
  type Terms,
} from '#attestation';
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
} from '#libs/settlement';

const roles = ['deployer', 'client', 'provider', 'attestor', 'challenger', 'treasury'] as const;
export type Role = (typeof roles)[number];
export type Money = Record<'client' | 'provider' | 'challenger' | 'treasury', bigint>;

export const native = new Uint8Array(20);
export const zeroWord = new Uint8Array(32);
export const seedClient = keccak(utf8('test seed of the client'));
export const seedProvider = keccak(utf8('test seed of the provider'));
export const policy = keccak(utf8('test policy'));
/** Stand for keys of enclaves that the attestor has appraised. */
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

export async function openMarket(options: Pick<DeployOptions, 'developmentKeys'> = {}): Promise<Market> {
  const anvil = await startAnvil();
  const chain = connect(anvil.url, anvil.chainId, 20);
  const deployment = await deploy(walletOf('deployer').connect(chain), {
    attestors: [walletOf('attestor').address],
    threshold: 1,
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
      return { holds: await chain.getBalance(deployment.settlement), owes: projection.owed(`0x${toHex(native)}`) };
    },
    async stop() {
      reader.close();
      chain.destroy();
      await anvil.stop();
    },
  };
}

const none = { draw: 0, challenge: 0, prove: 0, provePer: 0, hold: 0, reveal: 0, ack: 0 };
/** Seconds; long enough that no machine is too slow for them, since only `pass` makes them end. */
export const window = 10_000;
export const duties = { draw: window, prove: window, provePer: window };

export type TermsChange = Omit<Partial<Terms>, 'windows'> & { readonly windows?: Partial<Terms['windows']> };

/** One ether for the run, six tenths at stake. */
export function marketTerms(change: TermsChange): Terms {
  const attested = ((change.mode ?? 0) & JobMode.tee) !== 0;
  return {
    client: addressBytes(walletOf('client').address),
    provider: addressBytes(walletOf('provider').address),
    ...{ keyBroker: native, token: native, specDigest: zeroWord, initialWeights: zeroWord },
    policy: attested ? policy : zeroWord,
    minTier: attested ? 1 : 0,
    teeSelector: attested ? teeSelector : new Uint8Array(4),
    dutySelectors: [zkSelector],
    ...{ price: parseEther('1'), stake: parseEther('0.6'), liveness: parseEther('0.05') },
    ...{ bond: parseEther('0.1'), bondFee: parseEther('0.01'), failShareBps: 5000, holdbackBps: 1000 },
    ...{ segments: 1, samples: 0, mode: JobMode.full, seedCommitClient: keccak(seedClient), acceptBy: 2 ** 39 },
    ...change,
    windows: { start: window, compute: window, ...none, ...change.windows },
  };
}

/** From the client's money to a provider who owes a run. */
export async function engage(market: Market, terms: Terms): Promise<void> {
  const client = market.as('client');
  await client.open(terms);
  await market.as('provider').accept(terms, keccak(seedProvider));
  const content = { enclaveKey: enclaveKeyWord(addressBytes(enclaveKey.address)), shardsDigest: policy };
  const digest = releaseDigest(client.domain, { job: jobDigest(terms), ...content });
  const signature = sign(walletOf('client'), digest);
  await market.as('provider').start(terms, { ...content, signer: terms.client, signature });
}

export function runOf(borders: readonly Uint8Array[], change: Partial<CommittedRun> = {}): CommittedRun {
  const seal = new Uint8Array();
  return { outcome: 0, borders, seedProvider: zeroWord, delivery: zeroWord, seal, ...change };
}

/** The run under the seal of the appraised key. */
export function sealedRun(
  market: Market,
  terms: Terms,
  borders: readonly Uint8Array[],
  { delivery = zeroWord, key = enclaveKey }: { readonly delivery?: Uint8Array; readonly key?: Wallet } = {},
): CommittedRun {
  const run = {
    ...{ job: jobDigest(terms), upTo: borders.length - 1, outcome: 0 as const },
    ...{ bordersRoot: bordersRoot(borders), last: borders.at(-1)!, delivery },
  };
  const signature = sign(key, runDigest(market.as('provider').domain, run));
  return runOf(borders, { delivery, seal: concatBytes(teeSelector, signature) });
}

/** The attestor vouches for a key. */
export async function registerKey(market: Market, enclave = enclaveKey): Promise<void> {
  const provider = market.as('provider');
  const appraisal = {
    key: addressBytes(enclave.address),
    policy,
    provider: addressBytes(walletOf('provider').address),
    evidence: keccak(utf8(`test evidence of ${enclave.address}`)),
    notAfter: 2 ** 39,
  };
  const digest = appraisalDigest(provider.registryDomain, appraisal);
  await provider.registerEnclave(appraisal, [sign(walletOf('attestor'), digest)]);
}

export async function revokeKey(market: Market, enclave: Wallet): Promise<void> {
  const attestor = market.as('attestor');
  const key = addressBytes(enclave.address);
  const digest = revocationDigest(attestor.registryDomain, key, zeroWord);
  await attestor.revokeEnclave(key, zeroWord, [sign(walletOf('attestor'), digest)]);
}
