import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const mains = ['test/simulation/main.ts', 'test/faults/main.ts', 'test/property/main.ts', 'test/bench/main.ts'];
const own = ['test/support/check.ts', 'test/support/bless.ts'];

function run(main: string, ...args: string[]) {
  const node = ['--conditions=source', '--import', '@oxc-node/core/register', main, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

it.each([...mains, ...own])('%s tells its usage, and refuses what it does not know', (main) => {
  const help = run(main, '--help');
  expect(help).toMatchObject({ status: 0, stdout: expect.stringMatching(/^npm run \w+/), stderr: '' });
  const unknown = run(main, '--nonsense');
  expect(unknown).toMatchObject({ status: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/^Unknown option '--nonsense'/);
  expect(unknown.stderr).toContain(help.stdout);
});

it.each([
  ['test/simulation/main.ts', '--jobs', '0', '--jobs: expected a whole number from 1'],
  ['test/simulation/main.ts', '--engine', 'none', '--engine: expected memory or pglite; got none'],
  ['test/faults/main.ts', '--seed', 'x', '--seed: expected a whole number from 0'],
  [
    'test/property/main.ts',
    '--target',
    'toString',
    '--target: expected evidence or bundle or grant or checkpoint or dispatch or rest or step-proof or groth16; got toString',
  ],
])('%s %s %s', (main, name, value, message) => {
  const { status, stdout, stderr } = run(main, name, value);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.startsWith(message), stderr).toBe(true);
});
