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
import {
  createSimulatedVendor,
  encodeSimulatedVendor,
  parseSimulatedVendor,
  type SimulatedVendor,
} from '#libs/simulated-vendor';
import { writeWhole } from '../files.js';
import type { Profile } from '../profile.js';
import { writeSecret } from '../secrets.js';
import { developmentPolicy } from './development-policy.js';
import { freePort } from './free-port.js';
import { newApiKey, newSecret, testAccountSecret } from './keys.js';
import { startApp, type RunningProcess } from './process.js';

export interface EmbeddedSystem {
  /** What a client needs, for `--profile`. */
  readonly profileFile: string;
  readonly urls: Readonly<Record<string, string>>;
  /** Account of the node that is paid. */
  readonly provider: string;
  readonly chainPid: number;
  pidOf(app: AppName): number;
  /** Kills an app without a word, where it still runs, and starts it again on the same ports and data. */
  restart(app: AppName): Promise<void>;
  /** Resolves with the name of the first app that ends by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export type AppName = 'control-plane' | 'key-broker' | 'host-agent';

export interface EmbeddedOptions {
  /** Everything the system writes, wiped first. */
  readonly folder: string;
  /** Kept between runs: the simulated vendor, whose keys take seconds to make. */
  readonly vendorFile: string;
  /** Port of the control plane; 0 or absent: a free one. */
  readonly httpPort?: number;
  readonly onPhase?: (phase: string) => void;
  /** Settings of the control plane beyond those of the system (its README), for example a short lease. */
  readonly controlPlane?: Readonly<Record<string, string>>;
}

const pollingMs = 50;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedSystem> {
  const { folder, onPhase = () => undefined } = options;
  prepareFolder(folder);
  onPhase('local chain and contracts');
  const [anvil, vendor] = await Promise.all([startAnvil(), openVendor(options.vendorFile)]);
  const apps = new Map<AppName, RunningProcess>();
  const stop = async (): Promise<void> => {
    for (const app of [...apps.values()].reverse()) await app.stop();
    await anvil.stop();
  };
  try {
    const site = await layOut(options, anvil, vendor);
    const { http, broker } = site.ports;
    onPhase('control plane, key broker, node with simulated hardware');
    const launch: Readonly<Record<AppName, () => Promise<RunningProcess>>> = {
      'control-plane': () => startControlPlane(site, options.controlPlane),
      'key-broker': () => startApp('key-broker', site.logs, { VERITRAIN_BROKER_CONFIG: site.brokerConfig }),
      'host-agent': () => startApp('host-agent', site.logs, { VERITRAIN_HOST_SETTINGS: site.hostSettings }),
    };
    const start = async (app: AppName): Promise<void> => void apps.set(app, await launch[app]());
    await Promise.all([start('control-plane'), start('key-broker')]);
    await start('host-agent');
    const url = `http://127.0.0.1:${http}`;
    return {
      profileFile: site.profileFile,
      provider: accountOf(testAccountSecret(2)),
      chainPid: anvil.pid,
      pidOf: (app) => apps.get(app)!.pid,
      urls: {
        controlPlane: url,
        documentation: `${url}/docs`,
        graphql: `${url}/graphql`,
        broker: `http://127.0.0.1:${broker}`,
        chain: anvil.url,
      },
      ended: Promise.race([...apps].map(([name, { exited }]) => exited.then(() => name))),
      async restart(app) {
        const current = apps.get(app)!;
        await current.kill();
        await start(app);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where each party's files are, and on which ports it listens. */
interface Site {
  readonly folder: string;
  readonly logs: string;
  readonly ports: { readonly http: number; readonly dispatch: number; readonly broker: number };
  readonly anvil: Anvil;
  readonly deployment: Deployment;
  readonly bootstrapKeys: string;
  readonly brokerConfig: string;
  readonly hostSettings: string;
  readonly profileFile: string;
}

async function layOut(
  { folder, httpPort, vendorFile }: EmbeddedOptions,
  anvil: Anvil,
  vendor: SimulatedVendor,
): Promise<Site> {
  const attestorSecret = newSecret();
  const recipient = newSecret();
  const deployment = await deployContracts(anvil, attestorSecret);
  const ports = { http: httpPort || (await freePort()), dispatch: await freePort(), broker: await freePort() };
  const apiKeys = { client: newApiKey(), operator: newApiKey(), reviewer: newApiKey(), admin: newApiKey() };
  writeWhole(join(folder, 'policy.json'), `${JSON.stringify(developmentPolicy(vendor), null, 2)}\n`);
  writeSecret(join(folder, 'client-account.test-key'), testAccountSecret(1));
  writeSecret(join(folder, 'recipient.test-key'), recipient);
  const url = `http://127.0.0.1:${ports.http}`;
  const bootstrapKeys = join(folder, 'api-keys.test.json');
  const entries = Object.entries(apiKeys).map(([role, key]) => ({
    key,
    role,
    tenant: 'demo',
    name: `${role} of the demo`,
    ...(role === 'operator' ? { provider: accountOf(testAccountSecret(2)) } : {}),
  }));
  writeWhole(bootstrapKeys, JSON.stringify(entries), 0o600);
  return {
    folder,
    logs: join(folder, 'logs'),
    ports,
    anvil,
    deployment,
    bootstrapKeys,
    brokerConfig: layOutBroker(folder, ports.broker, anvil, deployment, attestorSecret, recipient),
    hostSettings: layOutHost(
      folder,
      { url, dispatch: ports.dispatch, apiKey: apiKeys.operator },
      anvil,
      deployment,
      vendorFile,
    ),
    profileFile: writeProfile(folder, {
      controlPlane: { url, apiKey: apiKeys.client },
      broker: { url: `http://127.0.0.1:${ports.broker}`, account: accountOf(attestorSecret), keysFolder: 'data-keys' },
      policy: 'policy.json',
      chain: { rpcUrl: anvil.url, pollingMs, deployment, accountKey: 'client-account.test-key' },
      recipientKey: 'recipient.test-key',
    }),
  };
}

function prepareFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['data-keys', 'logs', 'broker', 'node']) {
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  }
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
  { folder, logs, ports, anvil, deployment, bootstrapKeys }: Site,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningProcess> {
  return startApp('control-plane', logs, {
    VERITRAIN_HTTP_PORT: String(ports.http),
    VERITRAIN_DISPATCH_PORT: String(ports.dispatch),
    VERITRAIN_DATA_DIR: join(folder, 'control-plane'),
    VERITRAIN_BOOTSTRAP_KEYS: bootstrapKeys,
    VERITRAIN_RPC_URL: anvil.url,
    VERITRAIN_CHAIN_ID: String(anvil.chainId),
    VERITRAIN_CONTRACT: deployment.settlement.toLowerCase(),
    VERITRAIN_CHAIN_START_BLOCK: String(deployment.fromBlock),
    VERITRAIN_CHAIN_POLL_MS: String(pollingMs),
    VERITRAIN_CONFIRMATIONS: '0',
    ...more,
  });
}

function layOutBroker(
  folder: string,
  port: number,
  anvil: Anvil,
  deployment: Deployment,
  attestorSecret: Uint8Array,
  recipient: Uint8Array,
): string {
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
      recipients: [`0x${toHex(x25519.getPublicKey(recipient))}`],
      clients: [accountOf(testAccountSecret(1))],
      settlement: {
        chainId: deployment.chainId,
        contract: deployment.settlement.toLowerCase(),
        registry: deployment.registry.toLowerCase(),
      },
      rpcUrl: anvil.url,
      journal: 'journal.jsonl',
    }),
  );
  return config;
}

function layOutHost(
  folder: string,
  controlPlane: { readonly url: string; readonly dispatch: number; readonly apiKey: string },
  anvil: Anvil,
  deployment: Deployment,
  vendorFile: string,
): string {
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
  return settings;
}

function writeProfile(folder: string, profile: Profile): string {
  const file = join(folder, 'client.json');
  writeWhole(file, `${JSON.stringify(profile, null, 2)}\n`, 0o600);
  return file;
}

function accountOf(secret: Uint8Array): string {
  return `0x${toHex(addressOfPublicKey(secp256k1.getPublicKey(secret, false)))}`;
}
