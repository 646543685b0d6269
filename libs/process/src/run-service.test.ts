import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { programFile } from './node-command.js';

const { path, flags } = programFile('./index', import.meta.url);
const service = "{ name: 'key-broker', help: 'What it is.', options: ['--recover'] }";

/** Runs a service whose `start` has this body. */
function run(body: string, ...words: readonly string[]) {
  const code = `import(${JSON.stringify(path)}).then(({ runService }) =>
    runService(${service}, async (options) => { ${body} }))`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', code, '--', 'main.js', ...words], {
    encoding: 'utf8',
  });
  return { status, stdout, error: stderr.startsWith('{') ? (JSON.parse(stderr) as unknown) : stderr };
}

it('tells what it is, and starts nothing', () => {
  const { status, stdout } = run("console.log('started')", '--recover', '--help');
  expect(status).toBe(0);
  expect(stdout).toBe(
    'Usage: node dist/apps/key-broker/src/main.js [--recover]\n\nWhat it is.\nSettings: apps/key-broker/README.md\n',
  );
});

it('starts with the options that it knows, and with no other', () => {
  expect(run('console.log([...options])', '--recover')).toMatchObject({ status: 0, stdout: "[ '--recover' ]\n" });
  expect(run("console.log('started')", '--recovr')).toMatchObject({
    status: 1,
    stdout: '',
    error: { code: 'SERVICE_OPTION', expected: '--recover, --help', got: '--recovr' },
  });
});

it('names the address that another process listens at, and shows where any other error came from', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const listen = `const { createServer } = await import('node:net');
    await new Promise((_, fail) => createServer().once('error', fail).listen(${port}, '127.0.0.1'));`;
  expect(run(listen)).toMatchObject({ status: 1, error: { code: 'ADDRESS_IN_USE', got: `127.0.0.1:${port}` } });
  server.close();
  expect(run("throw new Error('broken')").error).toMatch(/^Error: broken\n +at /);
});
