/** Checks bodies, queries, parameters and messages against their zod schema. */
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { refusal } from './codes.js';

export const validationPipe = new StandardSchemaValidationPipe({
  exceptionFactory: (issues) => {
    const [first] = issues;
    const path = (first?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    const message = first?.message ?? 'as documented';
    const [, wanted, received] = /^Invalid input: expected (.+), received (.+)$/.exec(message) ?? [];
    const isWithoutBody = path === '' && received === 'undefined';
    const more = issues.length === 1 ? '' : `, and ${issues.length - 1} more faults`;
    return refusal('REQUEST_MALFORMED', {
      expected: isWithoutBody
        ? 'a JSON body, with content-type application/json'
        : `${path === '' ? 'the value' : path}: ${wanted ?? message}`.slice(0, 300),
      got: `${isWithoutBody ? 'none' : (received ?? 'another value')}${more}`,
      rule: 'openapi.json',
      action: 'Send what the schema of this operation describes.',
    });
  },
});
