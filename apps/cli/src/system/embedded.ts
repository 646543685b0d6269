/**
 * The whole system on this machine: a local chain, a control plane on its embedded database, the data owner's key
 * broker and one node with simulated hardware. Every party is a process of its own and keeps its secrets to itself.
 */
import { join } from 'node:path';
import { freePort } from '#libs/process';
import { startAnvil } from '#libs/settlement';
import { layOutOwnLog, type OwnLog } from './own-log.js';
import { startApp, type RunningProcess } from './process.js';
import {
  accountBytes,
  controlPlaneEnvironment,
  layOut,
  layOutHost,
  layOutProver,
  openVendor,
  prepareFolder,
  type ProverOptions,
  type Site,
} from './site.js';
import { successors, type HostParts, type Successor } from './successors.js';

export interface EmbeddedSystem {
  /** What a client needs, for `--profile`. */
  readonly profileFile: string;
  readonly urls: Readonly<Record<string, string>>;
  /** Trust policy of the system's own log; null: it has none. */
  readonly logPolicy: string | null;
  /** Account of the node that is paid. */
  readonly provider: string;
  /** Account of the first prover. */
  readonly prover: string;
  readonly chainPid: number;
  pidOf(app: AppName): number;
  /** Ends an app without a word; harmless where it has ended. */
  kill(app: AppName): Promise<void>;
  /** Starts an app that has ended on the same ports and data. */
  start(app: AppName): Promise<void>;
  /** Both. */
  restart(app: AppName): Promise<void>;
  /** Resolves with the name of the first app that ends by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export type AppName =
  | 'control-plane'
  | 'key-broker'
  | 'log'
  | 'witness'
  | 'host-agent'
  | `host-agent-${number}`
  | Successor
  | `prover-${number}`;

export interface EmbeddedOptions {
  /** Everything the system writes, wiped first. */
  readonly folder: string;
  /** Kept between runs: the simulated vendor, whose keys take seconds to make. */
  readonly vendorFile: string;
  /** Port of the control plane; 0 or absent: a free one. */
  readonly httpPort?: number;
  readonly onPhase?: (phase: string) => void;
  /** Whether a log and a witness of the system's own take part; they do not where absent. */
  readonly log?: boolean;
  /** Whether a node with simulated hardware takes part; true where absent. */
  readonly enclave?: boolean;
  /** Where the enclave of the first node listens in its guest; a process of the host where absent. */
  readonly enclaveAddress?: string | undefined;
  /** Nodes with simulated hardware of one provider: `host-agent`, `host-agent-2` and so on; 1 where absent. */
  readonly nodes?: number;
  /**
   * Sessions are attested again at this age. To be started besides: `host-agent-2` with hardware of the second vendor, and
   * `host-prover` without any, both of the same operator.
   */
  readonly attestation?: { readonly seconds: number; readonly secondVendorFile: string };
  /** Nodes without a TEE, prover-1 and so on; at most three, each of an operator of its own. */
  readonly provers?: readonly Pick<ProverOptions, 'threads' | 'memoryMiB' | 'trains' | 'proves'>[];
  /** Folder of the provers' Groth16 keys; contract and client then take keys that one machine made. */
  readonly groth16Keys?: string | undefined;
  /** Settings of the control plane beyond those of the system (its README), for example a short lease. */
  readonly controlPlane?: Readonly<Record<string, string>>;
  /** Environment of the nodes with simulated hardware beyond their settings. */
  readonly hostEnvironment?: Readonly<Record<string, string>>;
}

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedSystem> {
  const { folder, vendorFile, onPhase = () => undefined } = options;
  prepareFolder(folder);
  onPhase('local chain and contracts');
  const [anvil, vendor] = await Promise.all([startAnvil({ ticks: true }), openVendor(vendorFile)]);
  const apps = new Map<AppName, RunningProcess>();
  let logging: ReturnType<OwnLog['start']> | undefined;
  const stop = async (): Promise<void> => {
    for (const app of withoutLog(apps).reverse()) await app.stop();
    for (const app of (await logging?.catch(() => [])) ?? []) await app.stop();
    await anvil.stop();
  };
  try {
    const ports = { http: options.httpPort || (await freePort()), dispatch: await freePort() };
    const brokerPort = await freePort();
    const url = `http://127.0.0.1:${ports.http}`;
    const { attestation } = options;
    const renewed = attestation && {
      attestation: { seconds: attestation.seconds, second: await openVendor(attestation.secondVendorFile) },
    };
    const { groth16Keys } = options;
    const developmentKeys = groth16Keys !== undefined;
    const ownLog = options.log === true ? await layOutOwnLog(folder, join(folder, 'logs')) : null;
    const log = ownLog?.brokerSettings;
    const site = await layOut({ folder, anvil, vendor, url, brokerPort, developmentKeys, log, ...renewed });
    logging = ownLog?.start(site.brokerSecret, accountBytes(site.brokerSecret));
    const dispatch = { host: '127.0.0.1', port: ports.dispatch };
    const { hostEnvironment: environment, enclaveAddress } = options;
    const host = { urls: [url], dispatch, vendorFile, environment };
    const hostSettings = layOutHost(site, { ...host, enclaveAddress, name: 'simulated-node-1' });
    const others = otherHosts(site, options.nodes ?? 1, host);
    onPhase('control plane, key broker, node with simulated hardware');
    const provers = proversOf(site, options.provers ?? [], { urls: [url], dispatch, groth16Keys });
    const launch = launchers(site, options, { ports, host, hostSettings, others: [...others, ...provers], ownLog });
    const logged = logging?.then((running) => running.forEach((app, index) => apps.set(logApps[index]!, app)));
    const start = async (app: AppName): Promise<void> => void apps.set(app, await launch[app]!());
    await Promise.all([start('control-plane'), start('key-broker'), logged]);
    if (options.enclave !== false) await start('host-agent');
    for (const [name] of others) await start(name);
    for (const [name] of provers) await start(name);
    return {
      profileFile: site.profileFile,
      provider: site.provider,
      prover: site.provers[0]!.account,
      chainPid: anvil.pid,
      pidOf: (app) => apps.get(app)!.pid,
      urls: {
        controlPlane: url,
        console: `${url}/console`,
        documentation: `${url}/docs`,
        graphql: `${url}/graphql`,
        broker: `http://127.0.0.1:${brokerPort}`,
        chain: anvil.url,
        ...(ownLog && { log: ownLog.url }),
      },
      logPolicy: ownLog?.policyFile ?? null,
      ended: Promise.race([...apps].map(([name, { exited }]) => exited.then(() => name))),
      kill: (app) => apps.get(app)!.kill(),
      start,
      async restart(app) {
        await apps.get(app)!.kill();
        await start(app);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** In the order in which `OwnLog.start` gives them. */
const logApps = ['witness', 'log'] as const;

/** These stop before the log: the key broker logs the head of its journal when it stops. */
function withoutLog(apps: ReadonlyMap<AppName, RunningProcess>): RunningProcess[] {
  return [...apps].filter(([name]) => !logApps.some((one) => one === name)).map(([, app]) => app);
}

type Launcher = () => Promise<RunningProcess>;

interface LaunchParts {
  readonly ports: { readonly http: number; readonly dispatch: number };
  readonly host: HostParts;
  readonly hostSettings: string;
  readonly others: readonly (readonly [name: AppName, launch: Launcher])[];
  readonly ownLog: OwnLog | null;
}

function launchers(
  site: Site,
  { attestation, controlPlane, hostEnvironment }: EmbeddedOptions,
  { ports, host, hostSettings, others, ownLog }: LaunchParts,
): Readonly<Partial<Record<AppName, Launcher>>> {
  const ofControlPlane = { ...controlPlaneEnvironment(site, ports), ...ownLog?.controlPlane, ...controlPlane };
  const ofHost = { VERITRAIN_HOST_SETTINGS: hostSettings, ...hostEnvironment };
  return {
    'control-plane': () => startApp('control-plane', site.logs, ofControlPlane),
    'key-broker': () => startApp('key-broker', site.logs, { VERITRAIN_BROKER_CONFIG: site.brokerConfig }),
    'host-agent': () => startApp('host-agent', site.logs, ofHost),
    ...(attestation && successors(site, { ...host, vendorFile: attestation.secondVendorFile })),
    ...Object.fromEntries(others),
  };
}

/** Nodes beside the first, by the name of their app. */
function otherHosts(site: Site, nodes: number, { environment, ...host }: HostParts) {
  return Array.from({ length: nodes - 1 }, (_, at) => {
    const [name, app] = [`simulated-node-${at + 2}`, `host-agent-${at + 2}`] as const;
    const env = { VERITRAIN_HOST_SETTINGS: layOutHost(site, { ...host, name }), ...environment };
    return [app, () => startApp('host-agent', site.logs, env, [], app)] as const;
  });
}

function proversOf(
  site: Site,
  provers: NonNullable<EmbeddedOptions['provers']>,
  at: Pick<ProverOptions, 'urls' | 'dispatch' | 'groth16Keys'>,
) {
  return provers.map((prover, index) => {
    const name = `prover-${index + 1}` as const;
    const settings = layOutProver(site, { ...prover, ...at, operator: site.provers[index]!, name });
    return [
      name,
      () => startApp('prover-worker', site.logs, { VERITRAIN_PROVER_SETTINGS: settings }, [], name),
    ] as const;
  });
}
