/** Arguments as REST reads them. */
import type { z } from 'zod';
import { refusal } from '../../core/problem/codes.js';

/** Items of a page. */
export const shown = (limit: number): number => Math.min(Math.max(limit, 1), 200);

/** @throws Rejection REQUEST_MALFORMED */
export function read<T>(form: z.ZodType<T>, value: unknown, expected: string): T {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refusal('REQUEST_MALFORMED', { expected, got: String(value).slice(0, 80), rule: 'schema.graphql' });
}
