/** The real image, built twice by separate processes that differ in what must not matter. Skipped where inputs cannot be had. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nodeCommand, startProcess, tailOf } from '#libs/process';
import { fetchGuest, inputsCache } from './build.js';
import { inputFile, readInput } from './inputs.js';
import { readLock, type PackageInput } from './lock.js';
import { npmFiles } from './packages.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-twice-'));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whyNot = await fetchGuest('cpu', { cache: inputsCache }).then(
  () => null,
  (error: { code?: string }) => error.code ?? String(error),
);
if (whyNot !== null) process.stderr.write(`skipped: no inputs of the guest: ${whyNot}\n`);

interface Printed {
  readonly initrd: { readonly sha256: string };
}

interface Builder {
  readonly env: Record<string, string>;
  readonly uid?: number;
  readonly umask: string;
  readonly node: string;
}

async function build(name: string, { umask, node, ...options }: Builder) {
  const out = join(folder, name);
  mkdirSync(out, { recursive: true });
  if (options.uid !== undefined) chownSync(out, options.uid, options.uid);
  const args = ['guest', 'build', '--flavour', 'cpu', '--out', out, '--json'];
  const [, ...words] = nodeCommand('../../../../apps/cli/src/main', import.meta.url, args);
  const command = ['/bin/sh', '-c', 'umask "$0"; exec "$@"', umask, node, ...words] as const;
  const { child, exited } = startProcess(command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = tailOf(child.stdout!, 100_000);
  expect(await exited).toBe(0);
  return { printed: JSON.parse(said()) as Printed, out };
}

/** The Node of the image itself: another version than the one that runs this test, where that is 20 or 22. */
function lockedNode(): string {
  const [{ name, version, integrity }] = readLock().npm as [PackageInput];
  const input = { kind: 'npm', name, version, integrity } as const;
  const files = npmFiles(readInput(input, join(inputsCache, inputFile(input))), (path) => path === 'bin/node');
  const path = join(folder, 'node');
  writeFileSync(path, files.get('bin/node')!.bytes);
  chmodSync(path, 0o755);
  return path;
}

it.skipIf(whyNot !== null)(
  'has the same bytes by another Node and user, under another mask, folder, zone, language and home',
  async () => {
    const { PATH = '' } = process.env;
    const plain = { umask: '022', node: process.execPath };
    const first = await build('a', { ...plain, env: { PATH, TZ: 'UTC', LANG: 'C', HOME: folder } });
    const isRoot = process.getuid?.() === 0;
    const second = await build('deeper/b', {
      ...{ umask: '077', node: lockedNode() },
      env: { PATH, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', HOME: '/' },
      ...(isRoot && { uid: 65534 }),
    });
    expect(second.printed).toEqual(first.printed);
    for (const file of ['vmlinuz', 'initrd.img', 'cmdline', 'files.txt', 'image.json'])
      expect(readFileSync(join(first.out, file)).equals(readFileSync(join(second.out, file))), file).toBe(true);
    const paths = readFileSync(join(first.out, 'files.txt'), 'utf8');
    expect(paths).not.toMatch(/simulated|koffi|\/sh$|busybox/im);
    const programs = [...paths.matchAll(/ 100755 \d+ (.*)$/gm)].map(([, path]) => path);
    expect(programs).toEqual(['bin/node', 'init', 'lib64/ld-linux-x86-64.so.2']);
  },
  300_000,
);
