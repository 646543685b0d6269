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

export function checkLines(checks: readonly Check[]): string {
  return checks
    .map(
      ({ status, code, rule, means, got, expected, action }) =>
        `${marks[status]} ${code}: ${rule}` +
        (status === 'met'
          ? ''
          : `\n    at stake: ${means}\n    ${status}; expected ${expected}, got ${got}${action && `\n    ${action}`}`),
    )
    .join('\n');
}

/** Codes of everything that is not met, each once, in order. */
export function unmetCodes(checks: readonly Check[]): string[] {
  return [...new Set(checks.filter(({ status }) => status !== 'met').map(({ code }) => code))];
}
