/** A log and a witness as processes of their own, and entries for them. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSealedEntry } from '#attestation/log';
import { submitEntry } from '#libs/log';
import { freePort, nodeCommand, startProcess, tailOf, type StartedProcess } from '#libs/process';
import { issuerOf, layOutLog, type LogSiteOptions } from '#test/log-site';

type App = 'log' | 'witness';

/** @param issuers  by name, as `issuerOf` makes them */
export async function startLogSite(
  issuers: readonly string[] = ['broker.example'],
  settings: Pick<LogSiteOptions, 'databaseUrl' | 'intervalMs'> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-'));
  const [port, witnessPort] = [await freePort(), await freePort()];
  const site = layOutLog({ ...settings, folder, port, witnessPort, issuers });
  const url = `http://127.0.0.1:${port}`;
  const running = new Map<App, StartedProcess>();

  /** @throws Error with the end of its log where it ends before it is ready */
  const start = async (app: App, args: readonly string[] = []): Promise<StartedProcess> => {
    const command = nodeCommand(`../../apps/${app}/src/main`, import.meta.url, args);
    const env = { ...process.env, VERITRAIN_LOG_CONFIG: site.logConfig, VERITRAIN_WITNESS_CONFIG: site.witnessConfig };
    const started = startProcess(command, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const tail = tailOf(started.child.stderr!, 2000);
    await new Promise<void>((resolve, reject) => {
      started.child.stdout!.once('data', () => resolve());
      void started.exited.then((code) => reject(new Error(`${app} ended with ${code}: ${tail()}`)));
    });
    running.set(app, started);
    return started;
  };
  await Promise.all([start('witness'), start('log')]);
  return {
    ...{ folder, url, policy: site.policy, policyFile: site.policyFile, start },
    kill: (app: App) => running.get(app)!.kill(),
    stopOne: (app: App) => running.get(app)!.stop(5000),
    stop: async (): Promise<void> => {
      await Promise.all([...running.values()].map((one) => one.stop(5000)));
      rmSync(folder, { recursive: true, force: true });
    },
    submit: (entry: Uint8Array, wait: 'integrated' | 'witnessed' = 'witnessed') =>
      submitEntry(url, entry, site.policy, { wait, withinMs: 90_000 }),
  };
}

export const unixNow = (): number => Math.floor(Date.now() / 1000);

/** A release of its own for each seed. */
export async function releaseEntry(seed: number): Promise<Uint8Array> {
  const bytes = (at: number): Uint8Array => new Uint8Array(32).fill(seed * 8 + at);
  const keys = { keys: bytes(3), evidence: bytes(4), grant: bytes(5) };
  const body = { job: bytes(1), dataset: bytes(2), ...keys, notAfter: unixNow() };
  const random = (size: number): Uint8Array => new Uint8Array(randomBytes(size));
  const options = { at: unixNow(), watchKeys: [bytes(6)], random };
  return (await makeSealedEntry(issuerOf('broker.example'), 'key-release', body, options)).entry;
}
