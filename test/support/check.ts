/** `npm run check`: all that must hold before a commit. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from './command-line.js';

interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
}

readCommandLine(
  `npm run check
  Types, lint, form, and every test. Each tool runs to its end, so that one run shows everything that is wrong; the last
  line counts the tools and the tests that passed and failed.`,
  {},
);

const work = mkdtempSync(join(tmpdir(), 'veritrain-check-'));
const report = join(work, 'tests.json');
const bin = (path: string): string => join('node_modules', path);

const tools: readonly (readonly [name: string, file: string, ...args: string[]])[] = [
  ['types', bin('typescript/bin/tsc'), '-p', '.', '--noEmit', '--tsBuildInfoFile', 'dist/.check.tsbuildinfo'],
  ['lint', bin('oxlint/bin/oxlint'), '--type-aware'],
  ['form', bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
];

function succeeds(name: string, file: string, ...args: readonly string[]): boolean {
  process.stderr.write(`check: ${name} …\n`);
  const began = Date.now();
  const { status } = spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' });
  process.stderr.write(`check: ${name} ${status === 0 ? 'passed' : 'FAILED'} in ${Date.now() - began} ms\n`);
  return status === 0;
}

function runTests(): TestReport {
  const passed = succeeds(
    'tests',
    bin('vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  );
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as TestReport;
  } catch {
    const failed = passed ? 0 : 1;
    return { numPassedTests: 0, numFailedTests: failed, numPendingTests: 0, numFailedTestSuites: failed };
  }
}

const outcomes = tools.map((tool) => succeeds(...tool));
const tests = runTests();
rmSync(work, { recursive: true, force: true });
const passed = outcomes.filter((outcome) => outcome).length + tests.numPassedTests;
/** A file that does not load counts as failed although none of its tests ran. */
const failedTests = Math.max(tests.numFailedTests, tests.numFailedTestSuites > 0 ? 1 : 0);
const failed = outcomes.filter((outcome) => !outcome).length + failedTests;
if (tests.numPendingTests > 0) process.stdout.write(`${tests.numPendingTests} skipped\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
