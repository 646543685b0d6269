/** What a submission must meet, refused with the code that names it. */
import { refusal } from '../core/problem/codes.js';

type SubmissionCode = Parameters<typeof refusal>[0];

const rule = 'apps/control-plane/README.md, submission';

export function demandEqual(code: SubmissionCode, expected: string, got: string): void {
  demand(code, expected === got, expected, got);
}

export function demand(code: SubmissionCode, holds: boolean, expected: string, got: string): void {
  if (holds) return;
  throw refusal(code, { expected, got, rule, action: 'Correct the submission and send it with a new key.' });
}
