/** `guest fetch` of locked inputs, killed in the middle. libs/guest/src/image/inputs.test.ts has what sources may do. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { nodeCommand, startProcess } from '#libs/process';
import { runCommand } from '#test/run-command';

/** A mirror that takes requests and never answers. */
async function silentMirror(): Promise<{ readonly url: string; readonly asked: Promise<void> }> {
  const server = createServer();
  const asked = new Promise<void>((resolve) => server.once('request', () => resolve()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

it.skipIf(!existsSync('/usr/lib/apt/apt-helper'))(
  'leaves a part where it is killed, which the next start removes and another one beside it does not',
  async () => {
    const cache = mkdtempSync(join(tmpdir(), 'veritrain-fetch-'));
    onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
    const { url, asked } = await silentMirror();
    const words = ['guest', 'fetch', '--flavour', 'dev', '--cache', cache];
    const command = nodeCommand('../main', import.meta.url, [...words, '--mirror', url]);
    const { child, exited } = startProcess(command, { stdio: 'ignore', endsWithUs: true });
    await asked;
    const part = readdirSync(cache);
    expect(part).toEqual([expect.stringMatching(/\.partial$/)]);
    const again = async (): Promise<unknown> =>
      (await runCommand(...words, '--mirror', `file://${cache}/no-such`)).json['error'];
    expect(await again()).toMatchObject({ code: 'GUEST_INPUT_GONE' });
    expect(readdirSync(cache)).toEqual(part);
    child.kill('SIGKILL');
    await exited;
    expect(readdirSync(cache)).toEqual(part);
    expect(await again()).toMatchObject({ code: 'GUEST_INPUT_GONE' });
    expect(readdirSync(cache)).toEqual([]);
  },
);
