/** What `.ci/run` forgives: up to three files of processes that pass alone, and no error beside them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const work = mkdtempSync(join(tmpdir(), 'veritrain-ci-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const source = readFileSync('.ci/run', 'utf8');
const functions = ['unhandled', 'has_stray_error', 'tests', 'again_alone'].map(
  (name) => new RegExp(`^${name}\\(\\) \\{\\n[^]*?^\\}`, 'm').exec(source)![0],
);
const unhandledOf = (...files: readonly (string | null)[]): string =>
  files.length === 0
    ? ''
    : `\u001b[31mVitest caught ${files.length} unhandled error${files.length > 1 ? 's' : ''} during the test run.\u001b[39m\n` +
      files
        .map(
          (file) =>
            `Unhandled Rejection\nError: lost\n${file === null ? '' : `This error originated in "\u001b[1m${file}\u001b[22m" test file.`}\n`,
        )
        .join('');

/** Counts of one step of which these files failed at first and pass alone. */
function stepOf(files: readonly string[], log: string): string[] {
  writeFileSync(join(work, 'tests.log'), log);
  const stubs = `
    set -uo pipefail
    work='${work}'; passed=0; failed=0; failures=(); unsteady=()
    say() { :; }
    report() { case "$2" in counts) echo '5 ${files.length}' ;; *) printf '%s\\n' ${files.join(' ')} | grep . ;; esac; }
    run_tests() { [ "$1" = "$work/alone.json" ]; }`;
  const end = 'tests step; echo "$passed $failed"; printf "%s\\n" "${failures[@]}"';
  const script = [stubs, ...functions, end].join('\n');
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
}

const [one, other] = ['test/e2e/one.test.ts', 'test/e2e/other.test.ts'];

it('takes files of processes that pass alone, with the errors that are theirs', () => {
  expect(stepOf([one], '')).toEqual(['6 0']);
  expect(stepOf([one, other], unhandledOf(one, other))).toEqual(['7 0']);
});

it('takes no error of another file or of none, and names it', () => {
  for (const stray of [other, null]) {
    const [counts, ...named] = stepOf([one], unhandledOf(one, stray));
    expect(counts).toBe('5 2');
    expect(named).toEqual([one, expect.stringMatching(/^step: an error of no test: .*Error: lost/)]);
  }
});

it('takes no other files, and no more than three', () => {
  expect(stepOf(['libs/log/src/one.test.ts'], '')[0]).toBe('5 1');
  expect(stepOf([one, other, one, other], '')[0]).toBe('5 4');
  expect(stepOf([], unhandledOf(null))).toEqual(['5 1', expect.stringMatching(/no failed test in its report/)]);
});
