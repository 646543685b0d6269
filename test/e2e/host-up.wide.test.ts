/** `host init` and `host up` for an account of a running system: a program in QEMU's place, the enclave itself behind it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { fetchBundle, fetchResult, openChain, readPolicy, type JobView } from '#libs/client';
import { nodeCommand, startProcess } from '#libs/process';
import { checkpointAt, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { writeFakeQemu } from '#test/fake-qemu';
import { expectPaidOnce, undisturbed } from '#test/outcome';
import { runCommand } from '#test/run-command';
import { smallManifest } from '#test/small-job';
import { withDescendants } from '../faults/processes.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-host-up-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (...parts: readonly string[]): string => join(folder, ...parts);
const vendorFile = 'test/support/fixtures/test-vendor-milan.json';

/** Settings of a host for the account that the system's own node would have. */
async function init({ folder: site }: TestSystem): Promise<void> {
  const own = join(site, 'system', 'simulated-node-1');
  const { controlPlane, chain } = JSON.parse(readFileSync(join(own, 'host.json'), 'utf8')) as {
    readonly controlPlane: { readonly url: readonly string[]; readonly dispatch: object; readonly apiKey: string };
    readonly chain: { readonly rpcUrl: string; readonly deployment: object };
  };
  mkdirSync(at('etc'));
  for (const name of ['provider', 'host-secret'])
    writeFileSync(at('etc', `${name}.key`), readFileSync(join(own, `${name}.test-key`)), { mode: 0o600 });
  mkdirSync(at('image'));
  for (const name of ['vmlinuz', 'initrd.img', 'cmdline']) writeFileSync(at('image', name), name);
  writeFakeQemu(at('qemu'));
  writeFileSync(at('dispatch.json'), JSON.stringify(controlPlane.dispatch));
  writeFileSync(at('api.key'), controlPlane.apiKey);
  writeFileSync(at('deployment.json'), JSON.stringify(chain.deployment));
  const { code, json } = await runCommand(
    ...['host', 'init', '--profile', 'dev', '--dir', at('etc'), '--image', at('image'), '--qemu', at('qemu')],
    ...['--run-dir', at('run'), '--state', at('state'), '--control-plane', controlPlane.url[0]!],
    ...['--dispatch', at('dispatch.json'), '--api-key', at('api.key'), '--rpc', chain.rpcUrl],
    ...['--deployment', at('deployment.json')],
  );
  expect(code, JSON.stringify(json)).toBe(0);
}

/** @param environment  of everything that it starts */
function up(environment: Readonly<Record<string, string>>): {
  readonly pid: number;
  said(): string;
  end(): Promise<number | null>;
} {
  const command = nodeCommand('../../apps/cli/src/main', import.meta.url, ['host', 'up', '0', '--dir', at('etc')]);
  const { child, exited } = startProcess(command, {
    ...{ stdio: ['ignore', 'pipe', 'pipe'], endsWithUs: true },
    env: { ...process.env, ...environment },
  });
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const end = (): Promise<number | null> => {
    child.kill('SIGTERM');
    return exited;
  };
  return { pid: child.pid!, said: () => said, end };
}

/** The process below `host up` whose command line has this word. */
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

describe('host up', () => {
  it('checks, serves, starts what ends again, and ends well when it is asked to', async () => {
    const test = await startTestSystem({}, { enclave: false, vendorFile });
    onTestFinished(() => test.stop());
    await init(test);
    const host = up(test.gate.environment);
    onTestFinished(async () => void (await host.end()));
    const manifest = smallManifest({ steps: 1600 });
    test.gate.holdAt(200);
    const job = await test.submit('behind-host-up', manifest, 200);
    await test.told(job.jobId, checkpointAt(200));
    process.kill(partOf(host.pid, 'fake-qemu-main'), 'SIGKILL');
    test.gate.holdAt(600);
    await test.told(job.jobId, stateIs('submitted', 'ENCLAVE_LOST'));
    await test.told(job.jobId, checkpointAt(600));
    process.kill(partOf(host.pid, 'host-agent'), 'SIGKILL');
    test.gate.open();
    await test.ended(job.jobId);
    const rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
    const chain = openChain(test.profile);
    try {
      const { policy } = readPolicy(test.profile.policy);
      const { stateDigest } = await fetchResult(job.jobId, test.profile, policy, test.api);
      await fetchBundle(job.jobId, test.profile, policy, test.api);
      expect(stateDigest).toBe(await undisturbed(test, manifest));
      expect((await test.api.get<JobView>(`jobs/${job.jobId}`)).attempt).toBe(3);
      await expectPaidOnce({ test, chain, rpc }, job.jobId, job.terms);
    } finally {
      chain.close();
      rpc.destroy();
    }
    expect(await host.end()).toBe(0);
    expect(host.said()).toContain('SIMULATED');
    expect(host.said()).toContain('guest ended with a signal');
    expect(host.said()).toContain('the host agent ended; it is started again');
  }, 600_000);
});
