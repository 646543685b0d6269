/** The embedded system for the fault runs: fewer parts and fewer ways to fail, and nothing that has to be installed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded, type AppName } from '../../apps/cli/src/system/embedded.js';
import type { PartName } from '../../apps/cli/src/system/distributed.js';
import { openGate } from '#test/gate';
import { controlPlane, healer, refusedLate, type FaultCluster, type FaultSystem } from './cluster.js';
import { withDescendants } from './processes.js';

/** What the parts of a distributed system are here. */
const appOf: Partial<Readonly<Record<PartName, AppName>>> = {
  'replica-1': 'control-plane',
  'key-broker': 'key-broker',
  'node-tls': 'host-agent',
};
const parts = Object.keys(appOf) as PartName[];

export async function startEmbeddedCluster(note: (line: string) => void, keeps = false): Promise<FaultCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-faults-'));
  const site = join(folder, 'system');
  const vendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor.json');
  const gate = openGate(join(folder, 'gate'));
  const hostEnvironment = gate.environment;
  const embedded = await startEmbedded({ folder: site, vendorFile, controlPlane, hostEnvironment, onPhase: note });
  const system: FaultSystem = {
    ...embedded,
    folder: site,
    databaseUrl: null,
    pidOf: (part) => embedded.pidOf(appOf[part]!),
    kill: (part) => embedded.kill(appOf[part]!),
    start: (part) => embedded.start(appOf[part]!),
  };
  return {
    system,
    parts,
    renews: false,
    kinds: ['kill', 'stop', 'kill-enclave'],
    folder,
    linksOf: () => [],
    links: [],
    folderOf: (disk) => {
      throw new Error(`no small disk for ${disk}`);
    },
    setClock: (part) => {
      throw new Error(`no clock of ${part} to set`);
    },
    clockOf: () => 0,
    gate,
    holder: async () => 'node-tls',
    refusedLate: () => refusedLate([join(site, 'logs', 'host-agent.log')]),
    namespaceOf: () => null,
    pidsOf: (part) => (part === 'chain' ? [system.chainPid] : withDescendants(system.pidOf(part))),
    ...healer(system, parts),
    async stop() {
      await embedded.stop();
      if (keeps) note(`everything is in ${folder}`);
      else rmSync(folder, { recursive: true, force: true });
    },
  };
}
