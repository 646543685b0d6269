/** How checks are shown to people: one line each, and what to do where one is not met. */
import type { Check } from '#libs/review';

const marks: Readonly<Record<Check['status'], string>> = {
  met: '✓',
  warned: '!',
  refused: '✗',
  forged: '✗',
  missing: '?',
  'not-checked': '–',
};

/** @param isIdle whether a check that is met has nothing in this job to be about */
export function checkLines(checks: readonly Check[], isIdle: (check: Check) => boolean = () => false): string {
  return checks.map((check) => (isIdle(check) ? idleLine(check) : checkLine(check))).join('\n');
}

function idleLine({ code, rule }: Check): string {
  return `· ${code}: does not apply to this job. ${rule}`;
}

function checkLine({ status, code, rule, means, got, expected, action }: Check): string {
  const line = `${marks[status]} ${code}: ${rule}`;
  if (status === 'met') return line;
  return `${line}\n    at stake: ${means}\n    ${status}; expected ${expected}, got ${got}${action && `\n    ${action}`}`;
}

/** Codes of everything that is not met, each once, in order. */
export function unmetCodes(checks: readonly Check[]): string[] {
  return [...new Set(checks.filter(({ status }) => status !== 'met').map(({ code }) => code))];
}
