import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';
import { freePort, isListening, nodeCommand, programFile, startProcess, tailOf } from './index.js';

const script = (code: string) => [process.execPath, '-e', code] as const;
const deaf = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000); console.log('up')";

it('gives streams and exit status', async () => {
  const started = startProcess(
    script("process.stdin.pipe(process.stdout); process.exitCode = 3; console.error('12345')"),
  );
  started.child.stdin!.end('said');
  const tail = tailOf(started.child.stderr!, 4);
  expect(await text(started.child.stdout!)).toBe('said');
  expect(await started.exited).toBe(3);
  expect(started.isRunning()).toBe(false);
  expect(tail()).toBe('345\n');
});

it('ends with the signal, and where that is not heard with a kill after the grace', async () => {
  const polite = startProcess(
    script("process.on('SIGTERM', () => process.exit(0)); setInterval(() => 0, 1000); console.log('up')"),
  );
  await once(polite.child.stdout!, 'data');
  await polite.stop(60_000);
  expect(polite.child.exitCode).toBe(0);

  const started = startProcess(script(deaf));
  await once(started.child.stdout!, 'data');
  await started.stop(50);
  expect(started.child.signalCode).toBe('SIGKILL');
  await started.stop(50);
  await started.kill();
});

it('says of a program that is not there that it has ended', async () => {
  const started = startProcess(['/nowhere/no-such-program']);
  expect(await started.exited).toBe(null);
  expect(started.isRunning()).toBe(false);
  await started.stop(50);
  await started.kill();
});

it('kills with this process what is to end with it', async () => {
  const inner = `startProcess([process.execPath, '-e', ${JSON.stringify(deaf)}], { endsWithUs: true })`;
  const { path, flags } = programFile('./index', import.meta.url);
  const code = `import(${JSON.stringify(path)}).then(({ startProcess }) => {
    const { child } = ${inner};
    child.stdout.once('data', () => { console.log(child.pid); process.exit(0); });
  })`;
  const outer = startProcess([process.execPath, ...flags, '-e', code]);
  const pid = Number(await text(outer.child.stdout!));
  expect(pid).toBeGreaterThan(0);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('starts source from source and what is built as it is', () => {
  vi.stubEnv('VERITRAIN_BUILT', undefined);
  const source = nodeCommand('./main', 'file:///p/libs/x/start.ts', ['--a'], ['--expose-gc']);
  expect(source).toEqual([
    ...[process.execPath, '--expose-gc', '--conditions=source', '--import', '@oxc-node/core/register'],
    ...['/p/libs/x/main.ts', '--a'],
  ]);
  expect(nodeCommand('../main', 'file:///p/dist/x/start.js')).toEqual([process.execPath, '/p/dist/main.js']);
  vi.unstubAllEnvs();
});

it('starts what is built in place of source, where tests that follow a build ask for it and it is there', () => {
  vi.stubEnv('VERITRAIN_BUILT', '1');
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-built-'));
  const caller = pathToFileURL(join(folder, 'libs/x/start.ts')).href;
  mkdirSync(join(folder, 'dist/libs/x'), { recursive: true });
  for (const file of ['package.json', 'dist/libs/x/main.js']) writeFileSync(join(folder, file), '');
  expect(nodeCommand('./main', caller)).toEqual([process.execPath, join(folder, 'dist/libs/x/main.js')]);
  expect(nodeCommand('./other', caller).at(-1)).toBe(join(folder, 'libs/x/other.ts'));
  rmSync(folder, { recursive: true });
  vi.unstubAllEnvs();
});

it('finds a port that nobody listens on', async () => {
  const port = await freePort();
  expect(await isListening(port)).toBe(false);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(await isListening(port)).toBe(true);
  server.close();
});
