/** A host of its own beside a running system, by the commands that an operator types: `host init` and `host up`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { expect } from 'vitest';
import { fetchBundle, fetchResult, openChain, type JobView, type Submitted } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { nodeCommand, startProcess } from '#libs/process';
import type { Manifest } from '#libs/step';
import { withDescendants } from '../faults/processes.js';
import type { TestSystem } from './embedded.js';
import { expectPaidOnce, undisturbed } from './outcome.js';
import { runCommand } from './run-command.js';

interface Image {
  readonly image: string;
  readonly qemu: string;
}

/** Settings in `folder/etc`, profile dev, for the account that the system's own node would have. */
export async function initHost({ folder: site }: TestSystem, folder: string, { image, qemu }: Image): Promise<void> {
  const at = (...parts: readonly string[]): string => join(folder, ...parts);
  const own = join(site, 'system', 'simulated-node-1');
  const { controlPlane, chain } = JSON.parse(readFileSync(join(own, 'host.json'), 'utf8')) as {
    readonly controlPlane: { readonly url: readonly string[]; readonly dispatch: object; readonly apiKey: string };
    readonly chain: { readonly rpcUrl: string; readonly deployment: object };
  };
  mkdirSync(at('etc'));
  for (const name of ['provider', 'host-secret'])
    writeFileSync(at('etc', `${name}.key`), readFileSync(join(own, `${name}.test-key`)), { mode: 0o600 });
  writeFileSync(at('dispatch.json'), JSON.stringify(controlPlane.dispatch));
  writeFileSync(at('api.key'), controlPlane.apiKey);
  writeFileSync(at('deployment.json'), JSON.stringify(chain.deployment));
  const { code, json } = await runCommand(
    ...['host', 'init', '--profile', 'dev', '--dir', at('etc'), '--image', image, '--qemu', qemu],
    ...['--memory', '1G', '--run-dir', at('run'), '--state', at('state'), '--control-plane', controlPlane.url[0]!],
    ...['--dispatch', at('dispatch.json'), '--api-key', at('api.key'), '--rpc', chain.rpcUrl],
    ...['--deployment', at('deployment.json')],
  );
  expect(code, JSON.stringify(json)).toBe(0);
}

interface RunningHost {
  said(): string;
  /** The process below `host up` whose command line has this word. */
  partOf(word: string): number;
  end(): Promise<number | null>;
}

/** @param environment  of everything that it starts */
export function startHostUp(folder: string, environment: Readonly<Record<string, string>>): RunningHost {
  const words = ['host', 'up', '0', '--dir', join(folder, 'etc')];
  const { child, exited } = startProcess(nodeCommand('../../apps/cli/src/main', import.meta.url, words), {
    ...{ stdio: ['ignore', 'pipe', 'pipe'], endsWithUs: true },
    env: { ...process.env, ...environment },
  });
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text: Buffer) => (said += text.toString()));
  return {
    said: () => said,
    partOf: (word) => partOf(child.pid!, word),
    end: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

function partOf(pid: number, word: string): number {
  const commandOf = (each: number): string => {
    try {
      return readFileSync(`/proc/${each}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  const found = withDescendants(pid).find((each) => each !== pid && commandOf(each).includes(word));
  if (found === undefined) throw new Error(`no process with ${word} below ${pid}`);
  return found;
}

/** The job ends in the bits of a run that nothing happened to, in this session of its own, and is paid once. */
export async function expectResumed(
  test: TestSystem,
  { jobId, terms }: Submitted,
  manifest: Manifest,
  attempt: number,
): Promise<void> {
  await test.ended(jobId);
  const rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
  const chain = openChain(test.profile);
  try {
    const { policy } = readPolicy(test.profile.policy);
    const { stateDigest } = await fetchResult(jobId, test.profile, policy, test.api);
    await fetchBundle(jobId, test.profile, policy, test.api);
    expect(stateDigest).toBe(await undisturbed(test, manifest));
    expect((await test.api.get<JobView>(`jobs/${jobId}`)).attempt).toBe(attempt);
    await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  } finally {
    chain.close();
    rpc.destroy();
  }
}
