/**
 * The whole system on this machine: a local chain, a control plane on its embedded database, the data owner's key
 * broker and one node with simulated hardware. Every party is a process of its own and keeps its secrets to itself.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { x25519 } from '@noble/curves/ed25519.js';
import { addressOfPublicKey, toHex } from '#attestation';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Wallet } from 'ethers';
import { connect, deploy, startAnvil, type Anvil, type Deployment } from '#libs/settlement';
import { createSimulatedVendor, encodeSimulatedVendor, parseSimulatedVendor } from '#libs/simulated-vendor';
import { writeWhole } from '../files.js';
import type { Profile } from '../profile.js';
import { writeSecret } from '../secrets.js';
import { developmentPolicy } from './development-policy.js';
import { newApiKey, newSecret, testAccountSecret } from './keys.js';
import { startApp, type RunningProcess } from './process.js';

export interface EmbeddedSystem {
  /** Written to `<folder>/client.json` too. */
  readonly profileFile: string;
  readonly urls: Readonly<Record<string, string>>;
  readonly processes: readonly RunningProcess[];
  /** Account of the node that is paid. */
  readonly provider: string;
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Everything the system writes, wiped first. */
  readonly folder: string;
  /** Kept between runs: the simulated vendor, whose keys take seconds to make. */
  readonly vendorFile: string;
  /** Fixed ports; 0 or absent: free ones. */
  readonly httpPort?: number;
  readonly onPhase?: (phase: string) => void;
}

const pollingMs = 50;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedSystem> {
  const { folder, onPhase = () => undefined } = options;
  prepareFolder(folder);
  const running: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const process of running.splice(0).reverse()) await process.stop();
  };
  try {
    onPhase('local chain and contracts');
    const attestorSecret = newSecret();
    const [anvil, vendor] = await Promise.all([startAnvil(), openVendor(options.vendorFile)]);
    running.push(anvil);
    const deployment = await deployContracts(anvil, attestorSecret);
    writeWhole(join(folder, 'policy.json'), `${JSON.stringify(developmentPolicy(vendor), null, 2)}\n`);
    onPhase('control plane and key broker');
    const keys = { client: newApiKey(), operator: newApiKey(), reviewer: newApiKey(), admin: newApiKey() };
    const recipient = newSecret();
    const [controlPlane, broker] = await Promise.all([
      startControlPlane(folder, anvil, deployment, keys, options.httpPort ?? 0),
      startBroker(folder, deployment, attestorSecret, recipient),
    ]);
    running.push(controlPlane, broker);
    onPhase('node with simulated hardware');
    const url = `http://127.0.0.1:${String(controlPlane.ready.http)}`;
    const dispatch = Number(controlPlane.ready.dispatch);
    const node = await startNode(
      folder,
      { url, dispatch, apiKey: keys.operator },
      anvil,
      deployment,
      options.vendorFile,
    );
    running.push(node);
    const brokerUrl = `http://127.0.0.1:${String(broker.ready.http)}`;
    const profileFile = writeProfile(folder, {
      controlPlane: { url, apiKey: keys.client },
      broker: { url: brokerUrl, account: String(broker.ready.account), keysFolder: 'data-keys' },
      policy: 'policy.json',
      chain: { rpcUrl: anvil.url, pollingMs, deployment, accountKey: 'client-account.test-key' },
      recipientKey: 'recipient.test-key',
    });
    writeSecret(join(folder, 'client-account.test-key'), testAccountSecret(1));
    writeSecret(join(folder, 'recipient.test-key'), recipient);
    return {
      profileFile,
      provider: accountOf(testAccountSecret(2)),
      processes: [controlPlane, broker, node],
      urls: {
        controlPlane: url,
        documentation: `${url}/docs`,
        graphql: `${url}/graphql`,
        broker: brokerUrl,
        chain: anvil.url,
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function prepareFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['data-keys', 'logs', 'broker', 'node'])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
}

async function openVendor(file: string) {
  if (existsSync(file)) return parseSimulatedVendor(readFileSync(file, 'utf8'));
  const vendor = await createSimulatedVendor({ product: 'Milan', at: Math.floor(Date.now() / 1000) });
  writeWhole(file, encodeSimulatedVendor(vendor), 0o600);
  return vendor;
}

async function deployContracts(anvil: Anvil, attestorSecret: Uint8Array): Promise<Deployment> {
  const rpc = connect(anvil.url, anvil.chainId, pollingMs);
  try {
    const deployer = new Wallet(`0x${toHex(testAccountSecret(0))}`, rpc);
    return await deploy(deployer, { attestors: [accountOf(attestorSecret)], threshold: 1 });
  } finally {
    rpc.destroy();
  }
}

function startControlPlane(
  folder: string,
  anvil: Anvil,
  deployment: Deployment,
  keys: Readonly<Record<'client' | 'operator' | 'reviewer' | 'admin', string>>,
  httpPort: number,
): Promise<RunningProcess> {
  const bootstrap = join(folder, 'api-keys.test.json');
  const entries = Object.entries(keys).map(([role, key]) => ({
    key,
    role,
    tenant: 'demo',
    name: `${role} of the demo`,
  }));
  writeWhole(bootstrap, JSON.stringify(entries), 0o600);
  return startApp('control-plane', join(folder, 'logs'), {
    VERITRAIN_HTTP_PORT: String(httpPort),
    VERITRAIN_DISPATCH_PORT: '0',
    VERITRAIN_DATA_DIR: join(folder, 'control-plane'),
    VERITRAIN_BOOTSTRAP_KEYS: bootstrap,
    VERITRAIN_RPC_URL: anvil.url,
    VERITRAIN_CHAIN_ID: String(anvil.chainId),
    VERITRAIN_CONTRACT: deployment.settlement.toLowerCase(),
    VERITRAIN_CHAIN_START_BLOCK: String(deployment.fromBlock),
    VERITRAIN_CHAIN_POLL_MS: String(pollingMs),
    VERITRAIN_CONFIRMATIONS: '0',
  });
}

function startBroker(
  folder: string,
  deployment: Deployment,
  attestorSecret: Uint8Array,
  recipient: Uint8Array,
): Promise<RunningProcess> {
  writeSecret(join(folder, 'broker', 'attestor.test-key'), attestorSecret);
  writeSecret(join(folder, 'broker', 'result.test-key'), newSecret());
  const config = join(folder, 'broker', 'broker.json');
  writeWhole(
    config,
    JSON.stringify({
      dataKeys: '../data-keys',
      policy: '../policy.json',
      signingKey: 'attestor.test-key',
      resultKey: 'result.test-key',
      recipients: [`0x${toHex(x25519.getPublicKey(recipient))}`],
      settlement: {
        chainId: deployment.chainId,
        contract: deployment.settlement.toLowerCase(),
        registry: deployment.registry.toLowerCase(),
      },
      journal: 'journal.jsonl',
    }),
  );
  return startApp('key-broker', join(folder, 'logs'), { VERITRAIN_BROKER_CONFIG: config });
}

function startNode(
  folder: string,
  controlPlane: { readonly url: string; readonly dispatch: number; readonly apiKey: string },
  anvil: Anvil,
  deployment: Deployment,
  vendorFile: string,
): Promise<RunningProcess> {
  writeSecret(join(folder, 'node', 'provider.test-key'), testAccountSecret(2));
  const settings = join(folder, 'node', 'host.json');
  writeWhole(
    settings,
    JSON.stringify({
      name: 'simulated-node-1',
      controlPlane: {
        url: controlPlane.url,
        dispatch: { host: '127.0.0.1', port: controlPlane.dispatch },
        apiKey: controlPlane.apiKey,
      },
      chain: { rpcUrl: anvil.url, pollingMs, deployment, providerKey: 'provider.test-key' },
      enclave: { attester: 'simulated', vendor: vendorFile, threads: 1 },
      dataDirectory: 'data',
    }),
    0o600,
  );
  return startApp('host-agent', join(folder, 'logs'), { VERITRAIN_HOST_SETTINGS: settings });
}

function writeProfile(folder: string, profile: Profile): string {
  const file = join(folder, 'client.json');
  writeWhole(file, `${JSON.stringify(profile, null, 2)}\n`, 0o600);
  return file;
}

function accountOf(secret: Uint8Array): string {
  return `0x${toHex(addressOfPublicKey(secp256k1.getPublicKey(secret, false)))}`;
}
