/**
 * What the parties of a system on this machine keep: keys, settings and folders, each party's apart from the others'.
 */
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { x25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Wallet } from 'ethers';
import { type AppraisalPolicy } from '#attestation';
import { addressOfPublicKey, to0x } from '#attestation/base';
import { type Profile } from '#libs/client/api';
import { writeSecret, writeWhole } from '#libs/client/files';
import { connect, deploy, simulatedIssuer, type Anvil, type Deployment } from '#libs/settlement';
import {
  createSimulatedVendor,
  encodeSimulatedVendor,
  parseSimulatedVendor,
  type SimulatedVendor,
} from '#libs/simulated-vendor';
import { developmentPolicy } from './development-policy.js';
import { newApiKey, newSecret, testAccountSecret } from './keys.js';

/** How often a transaction is asked for by who waits for it, and the chain by who always looks. */
const pollingMs = 50;
const watchingMs = 200;

interface SiteOptions {
  /** Everything the system writes, wiped first. */
  readonly folder: string;
  readonly anvil: Anvil;
  readonly vendor: SimulatedVendor;
  /** Address under which the client reaches the control plane. */
  readonly url: string;
  /** Port under which client and nodes reach the broker. */
  readonly brokerPort: number;
  /** Port on which the broker listens; `brokerPort` where absent. */
  readonly listenPort?: number;
  /** Address under which client, node and broker reach the chain; the chain's own where absent. */
  readonly rpcUrl?: string;
  readonly attestation?: SiteAttestation;
  /** `log` of the broker's settings; absent: it logs nothing. */
  readonly log?: Readonly<Record<string, string>> | undefined;
  /** Whether contract and client take Groth16 keys that one machine made; they do not where absent. */
  readonly developmentKeys?: boolean;
}

/** Settings of a site whose sessions are attested again, and may be refused then. */
interface SiteAttestation {
  /** How old an attestation may get. */
  readonly seconds: number;
  /** Whose hardware the policy accepts besides. */
  readonly second: SimulatedVendor;
}

/** Where each party's files are. */
export interface Site {
  readonly folder: string;
  readonly logs: string;
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  readonly bootstrapKeys: string;
  readonly operatorKey: string;
  readonly brokerConfig: string;
  readonly profileFile: string;
  /** Account of the nodes that is paid. */
  readonly provider: string;
  /** Secret of the key broker's account. */
  readonly brokerSecret: Uint8Array;
  /** Secret of that account: a node that trains or proves on opens the enclave's checkpoints with it. */
  readonly hostSecret: Uint8Array;
  /** Operators of provers, whom the data owner's broker knows. */
  readonly provers: readonly ProverOperator[];
}

interface ProverOperator {
  readonly accountSecret: Uint8Array;
  /** 0x-hexadecimal. */
  readonly account: string;
  readonly apiKey: string;
}

/** Accounts of the local chain that provers have. */
const proverAccounts = [3, 4, 5];

/** Deploys the contracts and writes what client, data owner and control plane need. */
export async function layOut(options: SiteOptions): Promise<Site> {
  const { folder, anvil, vendor, url, brokerPort, listenPort = brokerPort, rpcUrl = anvil.url } = options;
  const attestorSecret = newSecret();
  const recipient = newSecret();
  const { developmentKeys = false } = options;
  const vendors = [vendor, ...(options.attestation === undefined ? [] : [options.attestation.second])];
  const deployment = await deployContracts(anvil, developmentKeys, vendors);
  const apiKeys = { client: newApiKey(), operator: newApiKey(), reviewer: newApiKey(), admin: newApiKey() };
  const provers = proverAccounts.map((index): ProverOperator => {
    const accountSecret = testAccountSecret(index);
    return { accountSecret, account: accountOf(accountSecret), apiKey: newApiKey() };
  });
  const provider = accountOf(testAccountSecret(2));
  const named = proverAccounts.map((index) => accountOf(testAccountSecret(index)));
  const policy = policyOf(vendor, options.attestation);
  writeWhole(join(folder, 'policy.json'), `${JSON.stringify(policy, null, 2)}\n`);
  const restrictions = {
    ...(options.attestation && { restrictions: 'restrictions.json', provers: [provider, ...named] }),
    ...(options.log && { log: options.log }),
  };
  if (options.attestation !== undefined)
    writeWhole(join(folder, 'broker', 'restrictions.json'), JSON.stringify(policy));
  writeSecret(join(folder, 'client-account.test-key'), testAccountSecret(1));
  writeSecret(join(folder, 'recipient.test-key'), recipient);
  return {
    folder,
    logs: join(folder, 'logs'),
    rpcUrl,
    deployment,
    provider,
    brokerSecret: attestorSecret,
    hostSecret: newSecret(),
    provers,
    bootstrapKeys: writeApiKeys(folder, apiKeys, provider, provers),
    operatorKey: apiKeys.operator,
    brokerConfig: layOutBroker({
      folder,
      port: listenPort,
      rpcUrl,
      deployment,
      attestorSecret,
      recipient,
      restrictions,
    }),
    profileFile: writeProfile(folder, {
      controlPlane: { url, apiKey: apiKeys.client },
      broker: { url: `http://127.0.0.1:${brokerPort}`, account: accountOf(attestorSecret), keysFolder: 'data-keys' },
      policy: 'policy.json',
      chain: { rpcUrl, pollingMs, deployment, accountKey: 'client-account.test-key' },
      recipientKey: 'recipient.test-key',
      providers: [provider, ...named],
      ...(developmentKeys && { developmentKeys }),
    }),
  };
}

function policyOf(vendor: SimulatedVendor, attestation: SiteAttestation | undefined): AppraisalPolicy {
  if (attestation === undefined) return developmentPolicy(vendor);
  return { ...developmentPolicy(vendor, attestation.second), resultSecondsMax: attestation.seconds };
}

export function prepareFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['data-keys', 'logs', 'broker']) {
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  }
}

/** The simulated vendor of this machine; made when there is none, which takes seconds. */
export async function openVendor(file: string): Promise<SimulatedVendor> {
  if (existsSync(file)) return parseSimulatedVendor(readFileSync(file, 'utf8'));
  const vendor = await createSimulatedVendor({ product: 'Milan', at: Math.floor(Date.now() / 1000) });
  // Systems that start at the same time agree on the vendor of the first.
  const own = `${file}.${process.pid}`;
  writeWhole(own, encodeSimulatedVendor(vendor), 0o600);
  try {
    linkSync(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own);
  }
  return parseSimulatedVendor(readFileSync(file, 'utf8'));
}

/** Settings that every control plane of a site has. */
export function controlPlaneEnvironment(site: Site, ports: { readonly http: number; readonly dispatch: number }) {
  const { folder, deployment, bootstrapKeys, rpcUrl } = site;
  return {
    VERITRAIN_HTTP_PORT: String(ports.http),
    VERITRAIN_DISPATCH_PORT: String(ports.dispatch),
    VERITRAIN_DATA_DIR: join(folder, 'control-plane'),
    VERITRAIN_BOOTSTRAP_KEYS: bootstrapKeys,
    VERITRAIN_RPC_URL: rpcUrl,
    VERITRAIN_CHAIN_ID: String(deployment.chainId),
    VERITRAIN_CONTRACT: deployment.settlement.toLowerCase(),
    VERITRAIN_CHAIN_START_BLOCK: String(deployment.fromBlock),
    VERITRAIN_CHAIN_POLL_MS: String(watchingMs),
    VERITRAIN_CONFIRMATIONS: '0',
  };
}

export interface HostOptions {
  /** Its folder's name, and what clients see. */
  readonly name: string;
  readonly urls: readonly string[];
  /** `dispatch` of the host agent's settings. */
  readonly dispatch: unknown;
  readonly answerSeconds?: number;
  readonly vendorFile: string;
  /** Where a guest's enclave listens; absent: the enclave is a process of the host. */
  readonly enclaveAddress?: string | undefined;
}

/** @returns the host agent's settings file */
export function layOutHost(
  site: Site,
  { name, urls, dispatch, answerSeconds, vendorFile, enclaveAddress: address }: HostOptions,
): string {
  const { rpcUrl, deployment, operatorKey, hostSecret } = site;
  const folder = join(site.folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeSecret(join(folder, 'provider.test-key'), testAccountSecret(2));
  writeSecret(join(folder, 'host-secret.test-key'), hostSecret);
  const settings = {
    name,
    controlPlane: { url: urls, dispatch, apiKey: operatorKey, ...(answerSeconds && { answerSeconds }) },
    chain: { rpcUrl, pollingMs, deployment, providerKey: 'provider.test-key' },
    escrow: { acceptProved: true },
    hostSecret: 'host-secret.test-key',
    enclave: { attester: 'simulated', vendor: resolve(vendorFile), threads: 1, ...(address && { address }) },
    dataDirectory: 'data',
  };
  const file = join(folder, 'host.json');
  writeWhole(file, JSON.stringify(settings), 0o600);
  return file;
}

export interface ProverOptions extends Pick<HostOptions, 'name' | 'urls' | 'dispatch'> {
  readonly operator: ProverOperator;
  readonly threads: number;
  readonly memoryMiB?: number | undefined;
  readonly trains?: boolean;
  readonly proves?: boolean;
  /** Folder of its Groth16 keys. */
  readonly groth16Keys?: string | undefined;
}

/** The operator of the host agents, with a prover beside them. */
export function hostOperator({ operatorKey, provider }: Site): ProverOperator {
  return { accountSecret: testAccountSecret(2), account: provider, apiKey: operatorKey };
}

/** @returns the prover worker's settings file */
export function layOutProver(site: Site, options: ProverOptions): string {
  const { name, urls, dispatch, operator, threads, trains = true, proves = true, groth16Keys, memoryMiB } = options;
  const { rpcUrl, deployment, hostSecret } = site;
  const folder = join(site.folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeSecret(join(folder, 'account.test-key'), operator.accountSecret);
  writeSecret(join(folder, 'host-secret.test-key'), hostSecret);
  const settings = {
    ...{ name, trains, proves, threads },
    ...(memoryMiB !== undefined && { memoryMiB }),
    controlPlane: { url: urls, dispatch, apiKey: operator.apiKey },
    chain: { rpcUrl, pollingMs, deployment, accountKey: 'account.test-key' },
    hostSecret: 'host-secret.test-key',
    dataDirectory: 'data',
    ...(groth16Keys && { groth16Keys }),
  };
  const file = join(folder, 'prover.json');
  writeWhole(file, JSON.stringify(settings), 0o600);
  return file;
}

/** The chain takes registrations on evidence of these vendors, as the policy of the system accepts it. */
async function deployContracts(
  anvil: Anvil,
  developmentKeys: boolean,
  vendors: readonly SimulatedVendor[],
): Promise<Deployment> {
  const rpc = connect(anvil.url, anvil.chainId, pollingMs);
  try {
    const deployer = new Wallet(to0x(testAccountSecret(0)), rpc);
    const simulatedIssuers = vendors.map(({ ask, product }) => simulatedIssuer(ask, product));
    return await deploy(deployer, { developmentKeys, simulatedIssuers });
  } finally {
    rpc.destroy();
  }
}

function writeApiKeys(
  folder: string,
  apiKeys: Readonly<Record<string, string>>,
  provider: string,
  provers: readonly ProverOperator[],
): string {
  const file = join(folder, 'api-keys.test.json');
  const entries = Object.entries(apiKeys).map(([role, key]) => ({
    key,
    role,
    // Its administrator is of every tenant: the provers are tenants of their own.
    ...(role === 'admin' ? {} : { tenant: 'demo' }),
    name: `${role} of the demo`,
    ...(role === 'operator' ? { provider } : {}),
  }));
  const operators = provers.map(({ apiKey, account }, at) => ({
    ...{ key: apiKey, provider: account, role: 'operator' },
    ...{ tenant: `demo-prover-${at + 1}`, name: `operator of prover ${at + 1}` },
  }));
  writeWhole(file, JSON.stringify([...entries, ...operators]), 0o600);
  return file;
}

interface BrokerOptions {
  readonly folder: string;
  readonly port: number;
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  readonly attestorSecret: Uint8Array;
  readonly recipient: Uint8Array;
  /** Settings beyond the usual ones. */
  readonly restrictions: Readonly<Record<string, unknown>>;
}

function layOutBroker(options: BrokerOptions): string {
  const { folder, port, rpcUrl, deployment, attestorSecret, recipient, restrictions } = options;
  writeSecret(join(folder, 'broker', 'attestor.test-key'), attestorSecret);
  writeSecret(join(folder, 'broker', 'result.test-key'), newSecret());
  const config = join(folder, 'broker', 'broker.json');
  writeWhole(
    config,
    JSON.stringify({
      port,
      dataKeys: '../data-keys',
      policy: '../policy.json',
      signingKey: 'attestor.test-key',
      resultKey: 'result.test-key',
      recipients: [to0x(x25519.getPublicKey(recipient))],
      clients: [accountOf(testAccountSecret(1))],
      provers: proverAccounts.map((index) => accountOf(testAccountSecret(index))),
      ...restrictions,
      settlement: {
        chainId: deployment.chainId,
        contract: deployment.settlement.toLowerCase(),
        registry: deployment.snpRegistry.toLowerCase(),
      },
      rpcUrl,
      journal: 'journal.jsonl',
      jobsPerDataSet: 100_000,
    }),
  );
  return config;
}

function writeProfile(folder: string, profile: Profile): string {
  const file = join(folder, 'client.json');
  writeWhole(file, `${JSON.stringify(profile, null, 2)}\n`, 0o600);
  return file;
}

function accountOf(secret: Uint8Array): string {
  return to0x(accountBytes(secret));
}

/** 20 bytes. */
export function accountBytes(secret: Uint8Array): Uint8Array {
  return addressOfPublicKey(secp256k1.getPublicKey(secret, false));
}
