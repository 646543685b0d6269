/**
 * A cluster on this machine, from installed servers: PostgreSQL, NATS with JetStream, a local chain, two replicas of
 * the control plane, the data owner's key broker and two nodes with simulated hardware, one that dials in over TCP with
 * mutual TLS and one over NATS with its nkey. Every party is a process of its own and keeps its secrets to itself.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#libs/process';
import { startAnvil, type Anvil } from '#libs/settlement';
import { makeDispatchCertificates, type CertificateFiles } from './dispatch-certificates.js';
import { openNats } from './nats.js';
import { layOutOwnLog, type OwnLog } from './own-log.js';
import { openPostgres, type PostgresCluster } from './postgres.js';
import { startApp, type RunningProcess } from './process.js';
import {
  accountBytes,
  controlPlaneEnvironment,
  layOut,
  layOutHost,
  openVendor,
  prepareFolder,
  type Site,
} from './site.js';

export const partNames = [
  'postgres',
  'nats-server',
  'replica-1',
  'replica-2',
  'key-broker',
  'node-tls',
  'node-nats',
] as const;
export type PartName = (typeof partNames)[number];

/** What a part listens on, and others dial. */
const linkNames = ['postgres', 'nats', 'chain', 'broker', 'http-1', 'http-2', 'dispatch-1', 'dispatch-2'] as const;
export type LinkName = (typeof linkNames)[number];

export type Dialler = PartName | 'client' | 'nodes';

export interface DistributedSystem {
  readonly folder: string;
  /** What a client needs, for `--profile`. */
  readonly profileFile: string;
  readonly urls: Readonly<Record<string, string>>;
  /** Account of the nodes that is paid. */
  readonly provider: string;
  /** Address of the database, for backups. */
  readonly databaseUrl: string;
  readonly chainPid: number;
  /** Trust policy of the system's own log, tlog-policy; null where it has none. */
  readonly logPolicy: string | null;
  pidOf(part: PartName): number;
  /** Ends a part without a word; harmless where it has ended. */
  kill(part: PartName): Promise<void>;
  /** Starts a part that has ended on the same ports and data. */
  start(part: PartName): Promise<void>;
  /** Resolves with the name of the first part that ends by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

interface DistributedOptions {
  /** Everything the system writes, wiped first. */
  readonly folder: string;
  readonly vendorFile: string;
  /** Port of the first replica; 0 or absent: a free one. */
  readonly httpPort?: number;
  readonly onPhase?: (phase: string) => void;
  /** Whether a log and a witness of the system's own take part; they do not where absent. */
  readonly log?: boolean;
  /** Settings of both replicas beyond those of the system. */
  readonly controlPlane?: Readonly<Record<string, string>>;
  /** Environment of every app beyond its settings. */
  readonly environment?: (part: PartName) => Readonly<Record<string, string>>;
  readonly answerSeconds?: number;
  /** @returns the port that `dialler` dials instead of the one that the part at the end of the link listens on */
  readonly through?: (dialler: Dialler, link: LinkName, port: number) => Promise<number>;
  /** What a part is started under, such as nsenter with its arguments. */
  readonly under?: (part: PartName) => readonly string[];
}

type Ports = Readonly<Record<LinkName, number>>;

/** @throws ConfigurationError SERVER_MISSING, POSTGRES_INIT, PROCESS_START */
export async function startDistributed(options: DistributedOptions): Promise<DistributedSystem> {
  const { folder, onPhase = () => undefined } = options;
  prepareFolder(folder);
  // PostgreSQL runs under an account of its own where this one is root.
  chmodSync(folder, 0o711);
  const ports = await choosePorts(options);
  const parts = new Map<PartName, RunningProcess>();
  const stopped = { anvil: null as Anvil | null };
  let logging: ReturnType<OwnLog['start']> | undefined;
  const stop = async (): Promise<void> => {
    for (const part of [...parts.values()].reverse()) await part.stop();
    // After the key broker, which logs the head of its journal when it stops.
    for (const app of (await logging?.catch(() => [])) ?? []) await app.stop();
    await stopped.anvil?.stop();
  };
  try {
    onPhase('PostgreSQL, NATS, local chain and contracts');
    const anvil = (stopped.anvil = await startAnvil({ port: ports.chain, ticks: true }));
    const { launch, startLog, ...system } = await prepare(options, anvil, ports);
    const start = async (part: PartName): Promise<void> => void parts.set(part, await launch[part]());
    await Promise.all([start('postgres'), start('nats-server')]);
    onPhase('two replicas of the control plane, key broker, two nodes with simulated hardware');
    logging = startLog();
    const [log] = await Promise.all([logging, start('replica-1'), start('replica-2'), start('key-broker')]);
    await Promise.all([start('node-tls'), start('node-nats')]);
    return {
      ...system,
      chainPid: anvil.pid,
      pidOf: (part) => parts.get(part)!.pid,
      kill: (part) => parts.get(part)!.kill(),
      start,
      ended: Promise.race([
        ...[...parts].map(([name, { exited }]) => exited.then(() => name)),
        ...log.map(({ exited }) => exited.then(() => 'log or witness')),
      ]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function choosePorts({ httpPort }: DistributedOptions): Promise<Ports> {
  const entries = [];
  for (const name of linkNames) entries.push([name, (name === 'http-1' && httpPort) || (await freePort())] as const);
  return Object.fromEntries(entries) as Ports;
}

type Launch = Readonly<Record<PartName, () => Promise<RunningProcess>>>;

/** Writes every file of the system and says how each part is started. */
async function prepare(options: DistributedOptions, anvil: Anvil, ports: Ports) {
  const { folder, vendorFile, through = async (_dialler, _link, port) => port } = options;
  const reach = (dialler: Dialler, link: LinkName): Promise<number> => through(dialler, link, ports[link]);
  const vendor = await openVendor(vendorFile);
  const urls = await urlsFor('client', reach);
  const rpcUrl = await chainFor('client', reach);
  const brokerPort = await reach('nodes', 'broker');
  const ownLog = options.log === true ? await layOutOwnLog(folder, join(folder, 'logs')) : null;
  const shared = { folder, anvil, vendor, url: urls[0]!, brokerPort, rpcUrl, listenPort: ports.broker };
  const site = await layOut({ ...shared, log: ownLog?.brokerSettings });
  const log = (name: string): string => join(site.logs, `${name}.log`);
  const postgres = openPostgres(join(folder, 'postgres'), ports.postgres, log('postgres'));
  const seeds = { 'control-plane': join(folder, 'control-plane.test-nkey'), node: join(folder, 'node-nats.test-nkey') };
  const parties = Object.entries(seeds).map(([role, seedFile]) => ({ role: role as keyof typeof seeds, seedFile }));
  const nats = await openNats(join(folder, 'nats'), ports.nats, log('nats-server'), parties);
  const apiKeyId = site.operatorKey.split('_')[1]!;
  const certificates = await makeDispatchCertificates(join(folder, 'tls'), ['127.0.0.1', 'localhost'], [apiKeyId]);
  const cluster: Cluster = { options, site, ownLog, ports, reach, postgres, seeds, server: certificates.server };
  const tls = certificates.nodes[apiKeyId]!;
  const dial = async (link: LinkName) => ({ host: '127.0.0.1', port: await reach('node-tls', link), tls });
  const launch: Launch = {
    postgres: () => postgres.start(),
    'nats-server': () => nats.start(),
    'replica-1': await replica(cluster, 1),
    'replica-2': await replica(cluster, 2),
    'key-broker': () =>
      startApp('key-broker', site.logs, {
        VERITRAIN_BROKER_CONFIG: site.brokerConfig,
        ...options.environment?.('key-broker'),
      }),
    'node-tls': await node(cluster, 'node-tls', [await dial('dispatch-1'), await dial('dispatch-2')]),
    'node-nats': await node(cluster, 'node-nats', { nats: [await natsFor('node-nats', reach)], nkey: seeds.node }),
  };
  return {
    launch,
    startLog: async () => (await ownLog?.start(site.brokerSecret, accountBytes(site.brokerSecret))) ?? [],
    logPolicy: ownLog?.policyFile ?? null,
    folder,
    profileFile: site.profileFile,
    provider: site.provider,
    databaseUrl: postgres.url(),
    urls: {
      controlPlane: urls[0]!,
      secondReplica: urls[1]!,
      console: `${urls[0]}/console`,
      documentation: `${urls[0]}/docs`,
      graphql: `${urls[0]}/graphql`,
      broker: `http://127.0.0.1:${brokerPort}`,
      chain: rpcUrl,
      nats: `nats://127.0.0.1:${ports.nats}`,
      database: `postgresql://127.0.0.1:${ports.postgres}/postgres`,
      ...(ownLog && { log: ownLog.url }),
    },
  };
}

interface Cluster {
  readonly options: DistributedOptions;
  readonly site: Site;
  readonly ownLog: OwnLog | null;
  readonly ports: Ports;
  readonly reach: Reach;
  readonly postgres: PostgresCluster;
  readonly seeds: { readonly 'control-plane': string; readonly node: string };
  readonly server: CertificateFiles;
}

type Reach = (dialler: Dialler, link: LinkName) => Promise<number>;

const chainFor = async (dialler: Dialler, reach: Reach) => `http://127.0.0.1:${await reach(dialler, 'chain')}`;
const natsFor = async (dialler: Dialler, reach: Reach) => `nats://127.0.0.1:${await reach(dialler, 'nats')}`;
const urlsFor = async (dialler: Dialler, reach: Reach) => [
  `http://127.0.0.1:${await reach(dialler, 'http-1')}`,
  `http://127.0.0.1:${await reach(dialler, 'http-2')}`,
];

async function replica(cluster: Cluster, number: 1 | 2): Promise<() => Promise<RunningProcess>> {
  const { options, site, ownLog, ports, reach, postgres, seeds, server } = cluster;
  const name = `replica-${number}` as const;
  const environment = {
    ...controlPlaneEnvironment(site, { http: ports[`http-${number}`], dispatch: ports[`dispatch-${number}`] }),
    VERITRAIN_RPC_URL: await chainFor(name, reach),
    DATABASE_URL: postgres.url(await reach(name, 'postgres')),
    NATS_URL: await natsFor(name, reach),
    VERITRAIN_NATS_NKEY: seeds['control-plane'],
    VERITRAIN_DISPATCH_TLS_KEY: server.key,
    VERITRAIN_DISPATCH_TLS_CERT: server.cert,
    VERITRAIN_DISPATCH_TLS_CA: server.ca,
    ...ownLog?.controlPlane,
    ...options.controlPlane,
    ...options.environment?.(name),
  };
  return () => startApp('control-plane', site.logs, environment, [], name, options.under?.(name));
}

async function node(
  { site, options, reach }: Cluster,
  name: 'node-tls' | 'node-nats',
  dispatch: unknown,
): Promise<() => Promise<RunningProcess>> {
  const { vendorFile, answerSeconds } = options;
  const settings = layOutHost(
    { ...site, rpcUrl: await chainFor(name, reach) },
    { name, urls: await urlsFor(name, reach), dispatch, vendorFile, ...(answerSeconds && { answerSeconds }) },
  );
  const environment = { VERITRAIN_HOST_SETTINGS: settings, ...options.environment?.(name) };
  return () => startApp('host-agent', site.logs, environment, [], name, options.under?.(name));
}
