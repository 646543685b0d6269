/** Does a fault, undoes it, and says what it did. */
import { closeSync, existsSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultCluster } from './cluster.js';
import { floodChallenges } from './flood.js';
import type { Done, Link } from './link.js';
import type { Dialling, Disk, Fault } from './plan.js';
import { cpuMs, isAlive, stateOf } from './processes.js';
import type { Random } from './random.js';

/** Counts by what was seen to happen; a fault that met nothing has none. */
export type Effect = Readonly<Record<string, number>>;

/** @param jobId  of the job under the seed @returns what repairs it and gives its effect */
export async function inject(
  fault: Fault,
  cluster: FaultCluster,
  random: Random,
  jobId: string,
): Promise<() => Promise<Effect>> {
  const { system } = cluster;
  switch (fault.kind) {
    case 'kill': {
      const pid = system.pidOf(fault.part);
      await system.kill(fault.part);
      const effect = { 'processes killed': isAlive(pid) ? 0 : 1 };
      return () => cluster.heal().then(() => effect);
    }
    case 'broker-away':
      return takeAway(cluster);
    case 'challenge-flood':
      return floodChallenges(system.folder, jobId);
    case 'stop':
      return stop(cluster.pidsOf(fault.part));
    case 'kill-enclave': {
      const nodes = cluster.parts.filter((part) => part.startsWith('node-'));
      const pids = cluster.pidsOf(random.pick(nodes)).slice(1);
      signal(pids, 'SIGKILL');
      return async () => ({ 'enclaves killed': pids.filter((pid) => !isAlive(pid)).length });
    }
    case 'restart-database': {
      const pid = system.pidOf('postgres');
      signal([pid], 'SIGINT');
      return async () => {
        await ended(pid);
        await cluster.heal();
        return { 'database restarts': system.pidOf('postgres') === pid ? 0 : 1 };
      };
    }
    case 'wipe-broker': {
      const store = join(system.folder, 'nats', 'jetstream');
      const wasThere = existsSync(store);
      await system.kill('nats-server');
      rmSync(store, { recursive: true, force: true });
      return () => cluster.heal().then(() => ({ 'NATS stores wiped': wasThere ? 1 : 0 }));
    }
    case 'partition':
      return partition(fault.part === 'holder' ? await cluster.holder() : fault.part, cluster);
    case 'full-disk': {
      const filler = fill(cluster, fault.disk);
      const left = statfsSync(cluster.folderOf(fault.disk)).bavail;
      return async () => {
        rmSync(filler, { force: true });
        return { 'disks filled': left === 0 ? 1 : 0 };
      };
    }
    case 'clock':
      cluster.setClock(fault.part, fault.byMs);
      return async () => {
        const effect = { 'clocks set': cluster.clockOf(fault.part) === fault.byMs ? 1 : 0 };
        cluster.setClock(fault.part, 0);
        return effect;
      };
    case 'cut':
    case 'slow':
    case 'lossy-messages':
      return disturbLines(fault, cluster, random);
  }
}

/** Nobody starts it before this fault is over. */
async function takeAway({ system, away, heal }: FaultCluster): Promise<() => Promise<Effect>> {
  const pid = system.pidOf('key-broker');
  away.add('key-broker');
  await system.kill('key-broker');
  return async () => {
    const wasAway = !isAlive(pid) && system.pidOf('key-broker') === pid;
    away.delete('key-broker');
    await heal();
    return { 'long absences of the key broker': wasAway ? 1 : 0 };
  };
}

function disturbLines(
  fault: Extract<Fault, { kind: 'cut' | 'slow' | 'lossy-messages' }>,
  cluster: FaultCluster,
  random: Random,
): () => Promise<Effect> {
  const links =
    fault.kind === 'lossy-messages'
      ? cluster.links.filter(({ speaksNats }) => speaksNats)
      : cluster.linksOf(fault.part);
  const before = sum(links);
  for (const link of links) {
    if (fault.kind === 'cut') link.cut();
    else if (fault.kind === 'slow') link.delay(fault.delayMs);
    else link.lose(fault, random);
  }
  return async () => {
    if (fault.kind !== 'cut') repair(links);
    const after = sum(links);
    return Object.fromEntries(linesDone[fault.kind]!.map(([name, what]) => [name, after[what] - before[what]]));
  };
}

const linesDone: Readonly<Record<string, readonly (readonly [name: string, what: keyof Done])[]>> = {
  cut: [['lines cut', 'cut']],
  slow: [['pieces delayed', 'delayed']],
  'lossy-messages': [
    ['messages lost', 'lost'],
    ['messages doubled', 'doubled'],
    ['messages late', 'late'],
  ],
};

/** By the kernel where the part is in a namespace of its own, else by holding its lines. */
function partition(part: Dialling, cluster: FaultCluster): () => Promise<Effect> {
  const namespace = cluster.namespaceOf(part);
  const pids = cluster.pidsOf(part);
  const spent = cpuMs(pids);
  const links = cluster.linksOf(part);
  const { held } = sum(links);
  if (namespace === null) for (const link of links) link.hold();
  else namespace.plug(false);
  return async () => {
    const wasOff = namespace === null ? sum(links).held - held : namespace.isPlugged() ? 0 : 1;
    const worked = Math.max(0, cpuMs(pids) - spent);
    if (namespace === null) repair(links);
    else namespace.plug(true);
    const name = namespace === null ? 'lines held' : 'network interfaces down';
    return { [name]: wasOff, ...(part.startsWith('node-') && { 'CPU ms of nodes cut off': worked }) };
  };
}

function stop(pids: readonly number[]): () => Promise<Effect> {
  signal(pids, 'SIGSTOP');
  return async () => {
    const stopped = pids.filter((pid) => stateOf(pid) === 'T').length;
    signal(pids, 'SIGCONT');
    return { 'processes stopped': stopped };
  };
}

function sum(links: readonly Link[]): Done {
  const total: Done = { held: 0, cut: 0, delayed: 0, lost: 0, doubled: 0, late: 0 };
  for (const { done } of links) {
    for (const name of Object.keys(total) as (keyof Done)[]) total[name] += done[name];
  }
  return total;
}

function repair(links: readonly Link[]): void {
  for (const link of links) link.repair();
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended meanwhile.
    }
  }
}

async function ended(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(20);
}

/** Until not one more byte fits. */
function fill(cluster: FaultCluster, disk: Disk): string {
  const path = join(cluster.folderOf(disk), 'filler');
  const file = openSync(path, 'w');
  try {
    for (let size = 2 ** 20; size >= 1;) {
      try {
        writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size = Math.floor(size / 16);
      }
    }
  } finally {
    closeSync(file);
  }
  return path;
}
