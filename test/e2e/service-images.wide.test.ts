/**
 * The services in their images, as a container engine would run them, with the settings of a whole system on PostgreSQL and NATS:
 * each is healthy, a job goes through all of them and is paid, and each ends by SIGTERM.
 */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { followJob } from '#libs/client';
import { buildServices, inputsCache } from '#libs/guest';
import { freePort, poll, within } from '#libs/process';
import { startAnvil } from '#libs/settlement';
import { vendorFile } from '#test/embedded';
import { readLayout, startContained, type ContainedService } from '#test/service-images';
import { openNats } from '../../apps/cli/src/system/nats.js';
import { layOutOwnLog } from '../../apps/cli/src/system/own-log.js';
import { openPostgres } from '../../apps/cli/src/system/postgres.js';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import {
  controlPlaneEnvironment,
  layOut,
  layOutHost,
  layOutProver,
  openVendor,
  prepareFolder,
} from '../../apps/cli/src/system/site.js';
import { checkPaidOnce } from '../faults/checks.js';
import { openClient } from '../faults/jobs.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-service-images-'));
chmodSync(folder, 0o755);
const layoutFolder = join(folder, 'layout');
const root = join(folder, 'root');
/** At `/etc/veritrain` of each service. */
const settings = join(folder, 'site');
const stateOf = (name: string): string => join(folder, 'state', name);

async function whyNoImages(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'mounts need root';
  try {
    for (const server of ['postgres', 'nats-server']) findServer(server, server);
    await buildServices(layoutFolder, { cache: inputsCache });
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
const whyNot = await whyNoImages();
if (whyNot !== null) process.stderr.write(`skipped: no images of services are run: ${whyNot}\n`);

const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  rmSync(folder, { recursive: true, force: true });
}, 300_000);

const steps = 600;
const job = { steps, segmentSteps: 200, parallel: 1 };
const names = ['witness', 'log', 'control-plane', 'key-broker', 'host-agent', 'prover-worker'] as const;
type Name = (typeof names)[number];

async function portsOf<N extends string>(...wanted: readonly N[]): Promise<Record<N, number>> {
  const entries = [];
  for (const name of wanted) entries.push([name, await freePort()] as const);
  return Object.fromEntries(entries) as Record<N, number>;
}

/** As its operator would: state where the image lets it be written, nothing named by a path of this machine. */
function set(file: string, change: Readonly<Record<string, unknown>>): void {
  const read = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, inside(JSON.stringify({ ...read, ...change })));
}
const inside = (text: string): string => text.replaceAll(settings, '/etc/veritrain');

/** @returns null while the server starts up */
async function createDatabase(url: string, name: string): Promise<true | null> {
  const session = new pg.Client({ connectionString: url });
  try {
    await session.connect();
    await session.query(`CREATE DATABASE ${name}`);
    return true;
  } catch {
    return null;
  } finally {
    await session.end().catch(() => undefined);
  }
}

async function servers(ports: Record<'postgres' | 'nats', number>) {
  const seeds = { 'control-plane': join(settings, 'control-plane.test-nkey') };
  const log = (name: string): string => join(folder, `${name}.log`);
  const parties = [{ role: 'control-plane', seedFile: seeds['control-plane'] }] as const;
  const nats = await openNats(join(folder, 'nats'), ports.nats, log('nats'), parties);
  const postgres = openPostgres(join(folder, 'postgres'), ports.postgres, log('postgres'));
  for (const server of [nats, postgres]) {
    const running = await server.start();
    stops.push(() => running.stop());
  }
  const made = await poll(() => createDatabase(postgres.url(), 'log'), { everyMs: 200, withinMs: 60_000 });
  expect(made).toBe(true);
  const ofLog = new URL(postgres.url());
  ofLog.pathname = '/log';
  return {
    logDatabase: ofLog.href,
    controlPlane: {
      DATABASE_URL: postgres.url(),
      NATS_URL: `nats://127.0.0.1:${ports.nats}`,
      VERITRAIN_NATS_NKEY: seeds['control-plane'],
    },
  };
}

/** Settings of all, and where each answers for its health. */
async function layOutAll() {
  prepareFolder(settings);
  const anvil = await startAnvil({ ticks: true });
  stops.push(() => anvil.stop());
  const ports = await portsOf('postgres', 'nats', 'http', 'dispatch', 'broker', 'host', 'prover');
  const url = `http://127.0.0.1:${ports.http}`;
  const ownVendor = join(settings, 'vendor.json');
  const site = await layOut({
    ...{ folder: settings, anvil, vendor: await openVendor(vendorFile), url, brokerPort: ports.broker },
  });
  copyFileSync(vendorFile, ownVendor);
  const ownLog = await layOutOwnLog(settings, join(folder, 'logs'));
  const { logDatabase, controlPlane } = await servers(ports);
  const at = { urls: [url], dispatch: { host: '127.0.0.1', port: ports.dispatch } };
  const hostFile = layOutHost(site, { ...at, name: 'node', vendorFile: ownVendor });
  const proverFile = layOutProver(site, { ...at, name: 'prover', operator: site.provers[0]!, threads: 1 });
  const state = '/var/lib/veritrain';
  set(site.brokerConfig, { journal: `${state}/journal.jsonl` });
  set(hostFile, { dataDirectory: state, health: { port: ports.host } });
  set(proverFile, { dataDirectory: state, health: { port: ports.prover } });
  const [logFile, witnessFile] = [join(settings, 'log', 'log.json'), join(settings, 'log', 'witness', 'witness.json')];
  set(logFile, { databaseUrl: logDatabase, tiles: `${state}/tiles` });
  set(witnessFile, { state: `${state}/state` });
  const { VERITRAIN_DATA_DIR: _, ...ofSite } = controlPlaneEnvironment(site, ports);
  const env: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
    'control-plane': { ...ofSite, ...controlPlane, ...ownLog.controlPlane },
    'key-broker': { VERITRAIN_BROKER_CONFIG: site.brokerConfig },
    log: { VERITRAIN_LOG_CONFIG: logFile },
    witness: { VERITRAIN_WITNESS_CONFIG: witnessFile },
    'host-agent': { VERITRAIN_HOST_SETTINGS: hostFile },
    'prover-worker': { VERITRAIN_PROVER_SETTINGS: proverFile },
  };
  const { port: witnessPort } = JSON.parse(readFileSync(witnessFile, 'utf8')) as { readonly port: number };
  const health: Readonly<Record<Name, string>> = {
    'control-plane': `${url}/health/ready`,
    'key-broker': `http://127.0.0.1:${ports.broker}/health/ready`,
    log: `${ownLog.url}/health/ready`,
    witness: `http://127.0.0.1:${witnessPort}/health/live`,
    'host-agent': `http://127.0.0.1:${ports.host}/health/ready`,
    'prover-worker': `http://127.0.0.1:${ports.prover}/health/ready`,
  };
  return { site, url, env, health, logUrl: ownLog.url };
}

/** The settings, and the keys that came since, belong to whoever runs the services. */
const giveSettings = (): void => void execFileSync('chown', ['-R', '65532:65532', settings]);

describe.skipIf(whyNot !== null)('the services in their images', () => {
  const running = new Map<Name, ContainedService>();
  let all: Awaited<ReturnType<typeof layOutAll>>;
  beforeAll(async () => {
    const layout = readLayout(layoutFolder);
    expect([...layout.names].sort()).toEqual([...names].sort());
    // Their layers are the same, and nothing is written to a root.
    await layout.unpack(names[0], root);
    all = await layOutAll();
    giveSettings();
  }, 300_000);

  it.each(names)(
    '%s, with real settings, says that it is well',
    async (name) => {
      const layout = readLayout(layoutFolder);
      mkdirSync(stateOf(name), { recursive: true, mode: 0o750 });
      execFileSync('chown', ['65532:65532', stateOf(name)]);
      const env = Object.fromEntries(Object.entries(all.env[name]).map(([key, value]) => [key, inside(value)]));
      const service = startContained(layout.configOf(name), { root, settings, state: stateOf(name), env });
      running.set(name, service);
      stops.push(() => service.stop(10_000));
      const healthy = async (): Promise<true | null> => {
        const answer = await fetch(all.health[name]).catch(() => null);
        return answer?.ok === true ? true : null;
      };
      expect(await poll(healthy, { everyMs: 500, withinMs: 180_000 }), service.said()).toBe(true);
    },
    240_000,
  );

  it('a job goes through them, ends in the same bits, is paid once and logged', async () => {
    const { site, url, logUrl } = all;
    const client = await openClient(join(folder, 'client'), site.profileFile, site.provider, [url]);
    giveSettings();
    const { jobId, terms } = await client.submit(job);
    await followJob(jobId, client.api, () => undefined, ['delivered', 'settled', 'failed', 'refused']);
    expect((await client.settle(jobId)).stateDigest).toBe(await client.undisturbed(job));
    expect(await checkPaidOnce(terms, client.profile)).toEqual([]);
    const entries = async () => Number((await (await fetch(`${logUrl}/checkpoint`)).text()).split('\n')[1]);
    await expect.poll(entries).toBeGreaterThan(0);
    client.close();
  }, 300_000);

  it('each ends by SIGTERM within 20 seconds', async () => {
    for (const name of [...names].reverse()) {
      process.kill(running.get(name)!.pid, 'SIGTERM');
      // Null: of that signal itself, which some pass on once they have closed.
      expect([0, null], name).toContain(await within(20_000, running.get(name)!.exited));
    }
  }, 150_000);
});
