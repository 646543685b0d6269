import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { targets } from '../property/targets.js';

const mains = ['test/simulation/main.ts', 'test/faults/main.ts', 'test/property/main.ts', 'test/bench/main.ts'];
const own = ['test/support/check.ts', 'test/support/bless.ts', 'test/support/dev.ts'];

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
  ['test/support/check.ts', '--repeat', '0', '--repeat: expected files of tests'],
  [
    'test/property/main.ts',
    '--target',
    'toString',
    `--target: expected ${Object.keys(targets).join(' or ')}; got toString`,
  ],
])('%s %s %s', (main, name, value, message) => {
  const { status, stdout, stderr } = run(main, name, value);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.startsWith(message), stderr).toBe(true);
});

it('test/support/check.ts --repeat counts how often a file fails, a wide one too', () => {
  const kept = join(process.cwd(), '.veritrain');
  mkdirSync(kept, { recursive: true });
  const folder = mkdtempSync(join(kept, 'repeat-'));
  try {
    const [unsteady, wide] = ['unsteady.test.ts', 'steady.wide.test.ts'].map((name) =>
      relative('', join(folder, name)),
    );
    const counter = JSON.stringify(join(folder, 'runs'));
    writeFileSync(
      unsteady!,
      `import { appendFileSync, readFileSync } from 'node:fs';
      import { expect, it } from 'vitest';
      it('holds every other time', () => {
        appendFileSync(${counter}, 'x');
        expect(readFileSync(${counter}, 'utf8').length % 2, 'the second time').toBe(1);
      });`,
    );
    writeFileSync(wide!, `import { it } from 'vitest';\nit('holds', () => undefined);`);
    const { status, stdout } = run('test/support/check.ts', '--repeat', '2', unsteady!, wide!);
    expect(stdout.split('\n')).toEqual([
      `${unsteady}: failed 1 of 2`,
      expect.stringMatching(/^ {2}run 2: holds every other time: AssertionError: the second time/),
      `${wide}: failed 0 of 2`,
      '3 passed, 1 failed',
      '',
    ]);
    expect(status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
