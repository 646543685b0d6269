/** Systems of both profiles as their operator has them: backed up, upgraded, rolled back and restored as RUNBOOK.md says. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { toHex } from '#attestation/base';
import { poll } from '#libs/process';
import { encodeSimulatedVendor, parseSimulatedVendor, simulatedMeasurement } from '#libs/simulated-vendor';
import { startDistributed, type PartName } from '../../apps/cli/src/system/distributed.js';
import { startEmbedded, type AppName } from '../../apps/cli/src/system/embedded.js';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import { isAlive } from '../faults/processes.js';
import { vendorFile } from './embedded.js';
import { openGate, type Gate } from './gate.js';

/** What two images measure, hexadecimal. */
export const images = { old: toHex(simulatedMeasurement), new: 'd1'.repeat(48) } as const;

export interface Operated {
  readonly folder: string;
  readonly profileFile: string;
  readonly provider: string;
  readonly urls: readonly string[];
  readonly gate: Gate;
  /** Names of the nodes, the one that is upgraded last. */
  readonly nodes: readonly [first: string, second: string];
  /** Ends the node by SIGTERM. */
  stopNode(name: string): Promise<void>;
  startNode(name: string): Promise<void>;
  restartBroker(): Promise<void>;
  backUp(to: string): Promise<void>;
  /** The next release of the control plane, whose migrations only add, or this one again on the schema of the next. */
  replaceControlPlane(): Promise<void>;
  restore(from: string): Promise<void>;
  stop(): Promise<void>;
}

interface Processes<N extends string> {
  pidOf(name: N): number;
  start(name: N): Promise<void>;
}

/** As an operator ends a service, without a signal that it cannot answer. */
async function end<N extends string>(system: Processes<N>, name: N): Promise<void> {
  const pid = system.pidOf(name);
  process.kill(pid, 'SIGTERM');
  const gone = await poll(async () => (isAlive(pid) ? null : true), { everyMs: 100, withinMs: 60_000 });
  if (gone === null) throw new Error(`${name} runs 60 s after SIGTERM`);
}

async function again<N extends string>(system: Processes<N>, name: N): Promise<void> {
  await end(system, name);
  await system.start(name);
}

const copy = (from: string, to: string): void => {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true });
};

function openFolder(profile: string): { readonly root: string; readonly folder: string; readonly gate: Gate } {
  const root = mkdtempSync(join(tmpdir(), `veritrain-operated-${profile}-`));
  chmodSync(root, 0o711);
  return { root, folder: join(root, 'system'), gate: openGate(join(root, 'gate')) };
}

export async function openEmbedded(): Promise<Operated> {
  const { root, folder, gate } = openFolder('embedded');
  const system = await startEmbedded({ folder, vendorFile, nodes: 2, hostEnvironment: gate.environment });
  const app = (name: string): AppName => (name.endsWith('-1') ? 'host-agent' : 'host-agent-2');
  const data = join(folder, 'control-plane');
  return {
    ...{ folder, gate, profileFile: system.profileFile, provider: system.provider },
    urls: [system.urls['controlPlane']!],
    nodes: ['simulated-node-1', 'simulated-node-2'],
    stopNode: (name) => end(system, app(name)),
    startNode: (name) => system.start(app(name)),
    restartBroker: () => again(system, 'key-broker'),
    async backUp(to) {
      await end(system, 'control-plane');
      copy(data, to);
      await system.start('control-plane');
    },
    replaceControlPlane: () => again(system, 'control-plane'),
    async restore(from) {
      await end(system, 'control-plane');
      copy(from, data);
      await system.start('control-plane');
    },
    async stop() {
      await system.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export async function openDistributed(): Promise<Operated> {
  const { root, folder, gate } = openFolder('distributed');
  const environment = (part: PartName) => (part.startsWith('node-') ? gate.environment : {});
  const system = await startDistributed({ folder, vendorFile, environment });
  const replicas = ['replica-1', 'replica-2'] as const;
  const tool = (name: string, ...args: string[]): void =>
    void execFileSync(findServer(name, ''), [`--dbname=${system.databaseUrl}`, ...args], { stdio: 'pipe' });
  const query = async (...statements: string[]): Promise<void> => {
    const session = new pg.Client({ connectionString: system.databaseUrl });
    await session.connect();
    try {
      for (const statement of statements) await session.query(statement);
    } finally {
      await session.end();
    }
  };
  const data = join(folder, 'control-plane');
  return {
    ...{ folder, gate, profileFile: system.profileFile, provider: system.provider },
    urls: [system.urls['controlPlane']!, system.urls['secondReplica']!],
    nodes: ['node-tls', 'node-nats'],
    stopNode: (name) => end(system, name as PartName),
    startNode: (name) => system.start(name as PartName),
    restartBroker: () => again(system, 'key-broker'),
    async backUp(to) {
      mkdirSync(to);
      tool('pg_dump', '--format=custom', `--file=${join(to, 'database.dump')}`);
      copy(data, join(to, 'ciphertexts'));
    },
    async replaceControlPlane() {
      await query(
        'ALTER TABLE "job" ADD IF NOT EXISTS "next_release" text',
        'CREATE TABLE IF NOT EXISTS "next_release" ("id" uuid PRIMARY KEY)',
      );
      for (const replica of replicas) await again(system, replica);
    },
    async restore(from) {
      for (const replica of replicas) await end(system, replica);
      await query('DROP SCHEMA public CASCADE', 'CREATE SCHEMA public');
      tool('pg_restore', '--exit-on-error', '--single-transaction', join(from, 'database.dump'));
      copy(join(from, 'ciphertexts'), data);
      for (const replica of replicas) await system.start(replica);
    },
    async stop() {
      await system.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The node's guest is of this image from its next start on. */
export function setImage({ folder }: Operated, node: string, image: keyof typeof images): void {
  const file = join(folder, node, 'host.json');
  const settings = JSON.parse(readFileSync(file, 'utf8')) as { readonly enclave: object };
  const measurement = new Uint8Array(Buffer.from(images[image], 'hex'));
  const vendor = { ...parseSimulatedVendor(readFileSync(vendorFile, 'utf8')), measurement };
  const machine = join(folder, node, `${image}-image.json`);
  writeFileSync(machine, encodeSimulatedVendor(vendor), { mode: 0o600 });
  writeFileSync(file, JSON.stringify({ ...settings, enclave: { ...settings.enclave, vendor: machine } }));
}

type Named<T> = T & Readonly<Record<string, unknown>>;

function change<T>(file: string, to: (found: Named<T>) => object): void {
  writeFileSync(file, JSON.stringify(to(JSON.parse(readFileSync(file, 'utf8')) as Named<T>)));
}

/** How long a session may go without being attested again: it is after a third of that. */
export function attestWithin({ folder }: Operated, resultSecondsMax: number): void {
  change(join(folder, 'policy.json'), (policy) => ({ ...policy, resultSecondsMax }));
}

/** As `policy add-image` does, beside what is there; the broker goes on with jobs of the policy from before. */
export function acceptImages({ folder }: Operated): void {
  const [file, former] = ['policy.json', 'former-policy.json'].map((name) => join(folder, name));
  cpSync(file!, former!);
  change<{ readonly snp: object }>(file!, (policy) => {
    return { ...policy, snp: { ...policy.snp, measurements: Object.values(images) } };
  });
  change(join(folder, 'broker', 'broker.json'), (broker) => ({ ...broker, formerPolicies: ['../former-policy.json'] }));
}
