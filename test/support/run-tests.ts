/** Vitest in a process of its own, with its report as data. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface TestRun {
  readonly passed: boolean;
  /** Null where Vitest wrote none. */
  readonly report: TestReport | null;
}

/** @param shown  reporter whose output goes to this process's own; absent: none */
export function runTests(files: readonly string[], env: NodeJS.ProcessEnv, shown?: string): TestRun {
  const work = mkdtempSync(join(tmpdir(), 'veritrain-tests-'));
  const path = join(work, 'tests.json');
  const reporters = ['json', ...(shown === undefined ? [] : [shown])].map((name) => `--reporter=${name}`);
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, `--outputFile.json=${path}`, ...files];
  const stdio = shown === undefined ? 'ignore' : 'inherit';
  const { status } = spawnSync(process.execPath, args, { stdio, env });
  try {
    return { passed: status === 0, report: JSON.parse(readFileSync(path, 'utf8')) as TestReport };
  } catch {
    return { passed: status === 0, report: null };
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** What failed first, with the test that it failed in. */
export function firstError({ report }: TestRun): string {
  for (const { message, assertionResults } of report?.testResults ?? []) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    const [error = 'failed'] = failed?.failureMessages ?? [];
    if (failed !== undefined) return `${failed.fullName}: ${error.split('\n')[0]}`;
    if (message !== '') return message.split('\n')[0]!;
  }
  return 'no test ran';
}
