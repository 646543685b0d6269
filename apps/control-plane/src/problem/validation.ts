/** Checks bodies, queries, parameters and messages against their zod schema. */
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { refusal } from './codes.js';

export const validationPipe = new StandardSchemaValidationPipe({
  exceptionFactory: (issues) => {
    const [first] = issues;
    const path = (first?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return refusal('REQUEST_MALFORMED', {
      expected: `${path === '' ? 'the message' : path}: ${first?.message ?? 'as documented'}`.slice(0, 300),
      got: issues.length === 1 ? 'something else' : `something else, and ${issues.length - 1} more faults`,
      rule: 'openapi.json',
      action: 'Send what the schema of this operation describes.',
    });
  },
});
