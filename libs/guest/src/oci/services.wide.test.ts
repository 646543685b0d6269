/** Images of the services: written twice by processes that differ in what must not matter, unpacked, and run as their own root. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort, nodeCommand, poll, startProcess, tailOf } from '#libs/process';
import { buildServices } from './services.js';
import { inputsCache } from '../image/build.js';
import type { Descriptor } from './layout.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-services-'));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }), 300_000);
const isRoot = process.getuid?.() === 0;

const whyNot = await buildServices(join(folder, 'first'), { cache: inputsCache }).then(
  () => null,
  (error: { code?: string }) => error.code ?? String(error),
);
if (whyNot !== null) process.stderr.write(`skipped: no images of services: ${whyNot}\n`);
if (!isRoot) process.stderr.write('skipped: images are not run: chroot needs root\n');

const json = (...path: string[]): unknown => JSON.parse(readFileSync(join(folder, ...path), 'utf8'));
const blob = ({ digest }: Descriptor): string => join('blobs/sha256', digest.slice('sha256:'.length));

interface Image {
  readonly layers: readonly Descriptor[];
  readonly config: Descriptor;
}
interface Config {
  readonly config: { readonly Env: readonly string[]; readonly Cmd: readonly string[]; readonly WorkingDir: string };
}

describe.skipIf(whyNot !== null)('images of services', () => {
  it('have the same bytes under another user, zone, language and home', async () => {
    const out = join(folder, 'second');
    mkdirSync(out);
    if (isRoot) chownSync(out, 65534, 65534);
    const command = nodeCommand('../../../../apps/cli/src/main', import.meta.url, ['images', 'build', '--out', out]);
    const env = { PATH: process.env['PATH'] ?? '', TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', HOME: '/' };
    const { exited } = startProcess(command, { env, stdio: 'ignore', ...(isRoot && { uid: 65534 }) });
    expect(await exited).toBe(0);
    expect(json('second', 'index.json')).toEqual(json('first', 'index.json'));
  }, 600_000);

  it.skipIf(!isRoot)(
    'run as an account of their own in a root of their own: all start, the control plane is ready',
    async () => {
      const { manifests } = json('first', 'index.json') as { manifests: Descriptor[] };
      const root = join(folder, 'root');
      mkdirSync(root);
      const { layers } = json('first', blob(manifests[0]!)) as Image;
      for (const layer of layers) {
        const { exited } = startProcess(['tar', '-xpf', join(folder, 'first', blob(layer)), '-C', root]);
        expect(await exited).toBe(0);
      }
      const [http, dispatch] = [await freePort(), await freePort()];
      const start = (manifest: Descriptor) => {
        const { config } = json('first', blob((json('first', blob(manifest)) as Image).config)) as Config;
        const [program, ...args] = config.Cmd;
        expect(program).toBe('node');
        const words = args.map((word) => (word.startsWith('dist/') ? join(config.WorkingDir, word) : word));
        const own = Object.fromEntries(config.Env.map((line) => line.split('=') as [string, string]));
        const env = { ...own, VERITRAIN_HTTP_PORT: `${http}`, VERITRAIN_DISPATCH_PORT: `${dispatch}` };
        const command = ['/usr/sbin/chroot', '--userspec=65532:65532', root, '/bin/node', ...words] as const;
        const { child, exited, stop } = startProcess([...command], {
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
          endsWithUs: true,
        });
        const said = [tailOf(child.stdout!, 20_000), tailOf(child.stderr!, 20_000)];
        return { exited, stop, said: () => said.map((each) => each()).join('\n') };
      };
      for (const manifest of manifests.slice(1)) {
        const service = start(manifest);
        expect(await service.exited).not.toBe(0);
        // Without settings each says in one coded line what it wants: every module that it loads was there.
        expect(service.said()).toMatch(
          /"code":"(BROKER_CONFIG|PROVER_SETTINGS|LOG_CONFIG|WITNESS_CONFIG|HOST_SETTINGS)"/,
        );
      }
      const plane = start(manifests[0]!);
      onTestFinished(() => plane.stop(5000));
      const ready = () =>
        fetch(`http://127.0.0.1:${http}/health/ready`).then(
          ({ ok }) => (ok ? true : null),
          () => null,
        );
      expect(await poll(ready, { everyMs: 500, withinMs: 240_000 }), plane.said()).toBe(true);
    },
    600_000,
  );
});
