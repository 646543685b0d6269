/** The real image, built twice by separate processes that differ in what must not matter. Skipped where inputs cannot be had. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nodeCommand, startProcess, tailOf } from '#libs/process';
import { fetchGuest, inputsCache } from './build.js';

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

async function build(name: string, options: { readonly env: Record<string, string>; readonly uid?: number }) {
  const out = join(folder, name);
  mkdirSync(out, { recursive: true });
  if (options.uid !== undefined) chownSync(out, options.uid, options.uid);
  const args = ['guest', 'build', '--flavour', 'cpu', '--out', out, '--json'];
  const command = nodeCommand('../../../../apps/cli/src/main', import.meta.url, args);
  const { child, exited } = startProcess(command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = tailOf(child.stdout!, 100_000);
  expect(await exited).toBe(0);
  return { printed: JSON.parse(said()) as Printed, out };
}

it.skipIf(whyNot !== null)(
  'has the same bytes under another user, folder, zone, language and home',
  async () => {
    const { PATH = '' } = process.env;
    const first = await build('a', { env: { PATH, TZ: 'UTC', LANG: 'C', HOME: folder } });
    const isRoot = process.getuid?.() === 0;
    const second = await build('deeper/b', {
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
