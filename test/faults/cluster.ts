/** The distributed system with somebody in every line, on every disk and at every clock. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  partNames,
  startDistributed,
  type Dialler,
  type DistributedSystem,
  type LinkName,
  type PartName,
} from '../../apps/cli/src/system/distributed.js';
import pg from 'pg';
import type { AppraisalPolicy } from '#attestation';
import { openGate, type Gate } from '#test/gate';
import { preload } from '#test/preload';
import { Link } from './link.js';
import { namespaceMissing, openHub, openNamespace, type NodeNamespace } from './namespaces.js';
import { disks, kinds, tickingParts, type Dialling, type Disk, type Fault, type Ticking } from './plan.js';
import type { PlantName } from './plant.js';
import { isAlive, withDescendants } from './processes.js';

/** What the faults need of a system, whichever form it has. */
export type FaultSystem = Pick<DistributedSystem, 'folder' | 'profileFile' | 'urls' | 'provider' | 'chainPid'> & {
  /** null: in a process of its own, where nobody else can look. */
  readonly databaseUrl: string | null;
  pidOf(part: PartName): number;
  kill(part: PartName): Promise<void>;
  start(part: PartName): Promise<void>;
};

export interface FaultCluster {
  readonly system: FaultSystem;
  /** Parts that there are, in the order in which they are started. */
  readonly parts: readonly PartName[];
  readonly kinds: readonly Fault['kind'][];
  /** Attestations are short enough to be renewed under a job. */
  readonly renews: boolean;
  readonly folder: string;
  /** Lines that a part dials out on. */
  linksOf(dialler: Dialler): readonly Link[];
  readonly links: readonly Link[];
  folderOf(disk: Disk): string;
  /** Sets a part's wall clock ahead, or back. */
  setClock(part: Ticking, byMs: number): void;
  /** By how much it saw its clock set when it last looked; 0 when never. */
  clockOf(part: Ticking): number;
  /** Of its own; null where it shares the network of all. */
  namespaceOf(part: PartName): NodeNamespace | null;
  /** In front of the training of every node. */
  readonly gate: Gate;
  /** The node that has the newest lease. */
  holder(): Promise<Dialling>;
  /** How often a node was told so far that its lease is over. */
  refusedLate(): number;
  /** Process ids of a part and of everything that it started. */
  pidsOf(part: PartName | 'chain'): number[];
  /** Parts that are not to be started yet. */
  readonly away: Set<PartName>;
  /** Starts what does not run. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

/** Renewed at a third of it. */
const attestedSeconds = 30;
const diskBytes: Readonly<Record<Disk, string>> = { ciphertexts: '64m', 'node-tls': '8m', 'node-nats': '8m' };

/** Short leases, so that a run is not mostly waiting. */
export const controlPlane = {
  VERITRAIN_LEASE_SECONDS: '4',
  VERITRAIN_HEARTBEAT_SECONDS: '1',
  VERITRAIN_ATTEMPTS_MAX: '30',
  VERITRAIN_REQUESTS_PER_MINUTE: '1000000',
  VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE: '1000000',
};

/** @param keeps  leave what was written, logs above all */
export async function startFaultCluster(
  note: (line: string) => void,
  keeps = false,
  plant?: PlantName,
): Promise<FaultCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-faults-'));
  const gate = openGate(join(folder, 'gate'));
  chmodSync(folder, 0o711);
  if (keeps) note(`writing to ${folder}`);
  const site = join(folder, 'system');
  const folderOf = (disk: Disk): string =>
    disk === 'ciphertexts' ? join(site, 'control-plane') : join(site, disk, 'data');
  const lines: { readonly dialler: Dialler; readonly link: Link }[] = [];
  const mounted: string[] = [];
  const namespaces = await openNamespaces();
  const letGo = (): void => {
    for (const namespace of namespaces.values()) namespace.close();
    for (const { link } of lines) link.close();
    for (const path of mounted) spawnSync('umount', [path]);
  };
  const system = await startDistributed({
    folder: site,
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    answerSeconds: 3,
    controlPlane,
    onPhase: (phase) => {
      note(phase);
      if (phase.startsWith('two replicas')) mounted.push(...beforeApps(site, folderOf));
    },
    environment: (part) => environmentOf(folder, part, plant, gate),
    through: async (dialler, name: LinkName, port) => {
      const link = await Link.open(port, name === 'nats', namespaces.size > 0 ? '0.0.0.0' : '127.0.0.1');
      lines.push({ dialler, link });
      for (const node of nodeParts)
        if (dialler === node || dialler === 'nodes') namespaces.get(node)?.forward(link.port);
      return link.port;
    },
    under: (part) => namespaces.get(part)?.under ?? [],
  }).catch((error: unknown) => {
    letGo();
    throw error;
  });
  return {
    system,
    folder,
    linksOf: (dialler) => lines.filter((line) => line.dialler === dialler).map(({ link }) => link),
    links: lines.map(({ link }) => link),
    parts: partNames,
    renews: true,
    kinds: kinds.filter((kind) => kind !== 'full-disk' || mounted.length > 0),
    folderOf,
    setClock: (part, byMs) => writeFileSync(clockFile(folder, part), String(byMs)),
    clockOf: (part) => clockSeen(folder, part),
    namespaceOf: (part) => namespaces.get(part) ?? null,
    gate,
    holder: () => holderOf(system.databaseUrl),
    refusedLate: () => refusedLate(nodeParts.map((node) => join(site, 'logs', `${node}.log`))),
    pidsOf: (part) => (part === 'chain' ? [system.chainPid] : withDescendants(system.pidOf(part))),
    ...healer(system, partNames),
    async stop() {
      for (const { link } of lines) link.repair();
      for (const namespace of namespaces.values()) namespace.plug(true);
      await system.stop();
      letGo();
      if (keeps) note(`everything is in ${folder}`);
      else rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** None where this process may not make any. */
async function openNamespaces(): Promise<Map<PartName, NodeNamespace>> {
  const namespaces = new Map<PartName, NodeNamespace>();
  if (namespaceMissing() !== null) return namespaces;
  openHub();
  for (const [at, node] of nodeParts.entries()) namespaces.set(node, await openNamespace(at + 1));
  return namespaces;
}

const startAttemptsMax = 60;

/** Two faults may be repaired at once: a part is started once, and none waits for another. */
export function healer(system: FaultSystem, parts: readonly PartName[]): Pick<FaultCluster, 'away' | 'heal'> {
  const away = new Set<PartName>();
  const starting = new Map<PartName, Promise<void>>();
  const revive = (part: PartName): Promise<void> => {
    const started = starting.get(part) ?? startAgain(system, part).finally(() => starting.delete(part));
    starting.set(part, started);
    return started;
  };
  return {
    away,
    heal: async () => void (await Promise.all(parts.filter((part) => !away.has(part)).map(revive))),
  };
}

/** PostgreSQL waits for the last process of the one that was killed, everything else for what it needs. */
async function startAgain(system: FaultSystem, part: PartName): Promise<void> {
  for (let attempt = 1; !isAlive(system.pidOf(part)); attempt++) {
    await system.start(part).catch(async (error: unknown) => {
      if (attempt === startAttemptsMax) throw error;
      await sleep(300);
    });
  }
}

/** Small disks, and a policy under which attestations are short. @returns what was mounted */
function beforeApps(site: string, folderOf: (disk: Disk) => string): string[] {
  const file = join(site, 'policy.json');
  const policy = JSON.parse(readFileSync(file, 'utf8')) as AppraisalPolicy;
  writeFileSync(file, JSON.stringify({ ...policy, resultSecondsMax: attestedSeconds }));
  return mountSmallDisks(folderOf);
}

/** Sizes that can be filled; only root may mount them. */
function mountSmallDisks(folderOf: (disk: Disk) => string): string[] {
  if (process.getuid?.() !== 0) return [];
  return disks.map(folderOf).filter((path, index) => {
    mkdirSync(path, { recursive: true });
    return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes[disks[index]!]}`, 'tmpfs', path]).status === 0;
  });
}

const nodeParts = ['node-tls', 'node-nats'] as const satisfies readonly PartName[];

async function holderOf(databaseUrl: string): Promise<Dialling> {
  const session = new pg.Client({ connectionString: databaseUrl });
  await session.connect();
  try {
    const newest = 'SELECT node.name FROM lease JOIN node ON node.id = lease.node_id ORDER BY acquired_at DESC LIMIT 1';
    return (await session.query<{ name: Dialling }>(newest)).rows[0]!.name;
  } finally {
    await session.end();
  }
}

/** From what nodes log. */
export function refusedLate(logs: readonly string[]): number {
  return logs.reduce((sum, log) => sum + readFileSync(log, 'utf8').split('"LEASE_FENCED"').length - 1, 0);
}

const clockFile = (folder: string, part: string): string => join(folder, `${part}.clock`);

function clockSeen(folder: string, part: string): number {
  const file = `${clockFile(folder, part)}.seen`;
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
}

/** A clock that can be set, and what is planted. */
function environmentOf(
  folder: string,
  part: PartName,
  plant: PlantName | undefined,
  gate: Gate,
): Record<string, string> {
  if (!tickingParts.some((ticking) => ticking === part)) return {};
  const planted = plant === undefined ? [] : ['../faults/plant-main'];
  return {
    ...gate.environment,
    ...preload('gate-main', '../faults/clock-main', ...planted),
    VERITRAIN_TEST_CLOCK_FILE: clockFile(folder, part),
    ...(plant !== undefined && {
      VERITRAIN_TEST_PLANT: plant,
      VERITRAIN_TEST_PLANT_FILE: join(folder, 'system', 'logs', 'plant.bin'),
    }),
  };
}
