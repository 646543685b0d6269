/** `npm run check`: all that must hold before a commit. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readCommandLine } from './command-line.js';
import { firstError, runTests } from './run-tests.js';

const { values, positionals, whole, refuse } = readCommandLine(
  `npm run check
  Types, lint, form, and every test. Each tool runs to its end, so that one run shows everything that is wrong; the last
  line counts the tools and the tests that passed and failed.
npm run check -- --repeat N FILE…
  Runs each test file N times, a wide one too, and nothing else. Says how often each failed and the first error of each
  failure; the last line counts the runs. Exit status 1 when one failed.`,
  { allowPositionals: true, options: { repeat: { type: 'string' } } },
);

const bin = (path: string): string => join('node_modules', path);

const tools: readonly (readonly [name: string, file: string, ...args: string[]])[] = [
  ['types', bin('typescript/bin/tsc'), '-p', '.', '--noEmit', '--tsBuildInfoFile', 'dist/.check.tsbuildinfo'],
  ['types of pages', bin('typescript/bin/tsc'), '-p', 'apps/console'],
  ['lint', bin('oxlint/bin/oxlint'), '--type-aware'],
  ['form', bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
];

interface Count {
  readonly passed: number;
  readonly failed: number;
}

function timed<T extends { readonly passed: boolean }>(name: string, run: () => T): T {
  process.stderr.write(`check: ${name} …\n`);
  const began = Date.now();
  const outcome = run();
  process.stderr.write(`check: ${name} ${outcome.passed ? 'passed' : 'FAILED'} in ${Date.now() - began} ms\n`);
  return outcome;
}

function checkAll(): Count {
  const outcomes = tools.map(([name, file, ...args]) =>
    timed(name, () => ({ passed: spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' }).status === 0 })),
  );
  const tests = timed('tests', () => runTests([], process.env, 'default'));
  const { numPassedTests, numFailedTests, numPendingTests, numFailedTestSuites } = tests.report ?? {
    ...{ numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numFailedTestSuites: tests.passed ? 0 : 1 },
  };
  if (numPendingTests > 0) process.stdout.write(`${numPendingTests} skipped\n`);
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  /** A file that does not load counts as failed although none of its tests ran. */
  const failedTests = Math.max(numFailedTests, numFailedTestSuites > 0 ? 1 : 0);
  return { passed: passed + numPassedTests, failed: outcomes.length - passed + failedTests };
}

/** Runs every file so many times and says how often it failed. */
function checkRepeatedly(files: readonly string[], times: number): Count {
  let failed = 0;
  for (const file of files) {
    const env = { ...process.env, VERITRAIN_WIDE: file.endsWith('.wide.test.ts') ? '1' : '' };
    const runs = Array.from({ length: times }, () => runTests([file], env));
    const errors = runs.flatMap((run, at) => (run.passed ? [] : [`  run ${at + 1}: ${firstError(run)}\n`]));
    process.stdout.write(`${file}: failed ${errors.length} of ${times}\n${errors.join('')}`);
    failed += errors.length;
  }
  return { passed: files.length * times - failed, failed };
}

function check(): Count {
  if (values.repeat === undefined) return positionals.length === 0 ? checkAll() : refuse('FILE: only with --repeat');
  if (positionals.length === 0) refuse('--repeat: expected files of tests');
  return checkRepeatedly(positionals, whole('repeat', values.repeat, 1));
}

const { passed, failed } = check();
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
