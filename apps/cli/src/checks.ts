/** How checks are shown to people: one line each, and what to do where one is not met. */
import { type Check } from '#libs/review';
import { visibleText } from '#libs/review/text';

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
  return visibleText(`· ${code}: does not apply to this job. ${rule}`);
}

/** Each line by itself: what was expected and got may be a stranger's words. */
function checkLine({ status, code, rule, means, got, expected, action }: Check): string {
  const line = `${marks[status]} ${code}: ${rule}`;
  const unmet = [`    at stake: ${means}`, `    ${status}; expected ${expected}, got ${got}`];
  const lines = status === 'met' ? [line] : [line, ...unmet, ...(action === '' ? [] : [`    ${action}`])];
  return lines.map(visibleText).join('\n');
}

/** Codes of everything that is not met, each once, in order. */
export function unmetCodes(checks: readonly Check[]): string[] {
  return [...new Set(checks.filter(({ status }) => status !== 'met').map(({ code }) => code))];
}
