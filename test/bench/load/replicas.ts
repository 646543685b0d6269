/** The control plane under load: replicas in processes of their own on one database, with a NATS server where they need one. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsAddress } from '#libs/wire';
import { freePort, nodeCommand, startProcess } from '#libs/process';
import { openNats } from '../../../apps/cli/src/system/nats.js';
import { readNats } from '../../../apps/control-plane/src/core/config/transports.js';

export interface Usage {
  /** Of the largest replica. */
  readonly residentMiB: number;
  /** Of all of them since the last reading. */
  readonly cpuMilliseconds: number;
}

export interface Replicas {
  readonly http: readonly number[];
  readonly dispatch: readonly number[];
  /** What nodes dial; null where there is none. */
  readonly nats: NatsAddress | null;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

interface Replica {
  readonly child: ChildProcess;
  readonly http: number;
  readonly dispatch: number;
}

export async function startReplicas(databaseUrl: string, count: number, withNats: boolean): Promise<Replicas> {
  const nats = withNats ? await startNats() : null;
  const replicas: Replica[] = [];
  for (let n = 0; n < count; n++) replicas.push(await startReplica(databaseUrl, nats?.environment ?? {}));
  return {
    http: replicas.map(({ http }) => http),
    dispatch: replicas.map(({ dispatch }) => dispatch),
    nats: nats?.address ?? null,
    async usage() {
      const all = await Promise.all(replicas.map(({ child }) => usageOf(child)));
      return {
        residentMiB: Math.max(...all.map(({ residentMiB }) => residentMiB)),
        cpuMilliseconds: all.reduce((sum, { cpuMilliseconds }) => sum + cpuMilliseconds, 0),
      };
    },
    async stop() {
      for (const { child } of replicas) {
        const ended = once(child, 'exit');
        child.disconnect();
        await ended;
      }
      await nats?.stop();
    },
  };
}

async function startNats() {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-load-nats-'));
  const [plane, node] = [join(folder, 'control-plane.seed'), join(folder, 'node.seed')];
  const port = await freePort();
  const server = await openNats(folder, port, join(folder, 'nats.log'), [
    { seedFile: plane, role: 'control-plane' },
    { seedFile: node, role: 'node' },
  ]);
  const running = await server.start();
  const url = `nats://127.0.0.1:${port}`;
  return {
    environment: { NATS_URL: url, VERITRAIN_NATS_NKEY: plane },
    address: readNats({ NATS_URL: url, VERITRAIN_NATS_NKEY: node })!,
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As the image starts it, unless told otherwise. */
const flags = (process.env['VERITRAIN_LOAD_FLAGS'] ?? '--max-semi-space-size=4')
  .split(' ')
  .filter((flag) => flag !== '');

async function startReplica(url: string, environment: Readonly<Record<string, string>>): Promise<Replica> {
  const profiled = process.env['VERITRAIN_LOAD_PROFILE'];
  const profile = profiled === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiled}`];
  const { child } = startProcess(nodeCommand('./replica-main', import.meta.url, [url], [...flags, ...profile]), {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ports = await new Promise<{ http: number; dispatch: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { http: number; dispatch: number }));
    child.once('exit', (code) => reject(new Error(`the replica ended with ${code}`)));
  });
  return { child, ...ports };
}

function usageOf(child: ChildProcess): Promise<Usage> {
  return new Promise((resolve) => {
    child.once('message', (message) => resolve(message as Usage));
    child.send('usage');
  });
}
