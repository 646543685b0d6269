/** Cursor pagination: newest first; a cursor is the opaque position of the last item of a page. */
import { z } from 'zod';
import { refusal } from './problem/codes.js';

export const PageQuery = z.object({
  cursor: z.string().max(128).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export interface Page<T> {
  readonly items: T[];
  /** null on the last page. */
  readonly nextCursor: string | null;
}

function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

const Sequence = z.string().regex(/^[1-9][0-9]{0,17}$/);

/** @throws Rejection CURSOR_MALFORMED when what it holds is not a position */
export function decodeCursor(cursor: string, position: z.ZodType<string> = Sequence): string {
  const decoded = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!position.safeParse(decoded).success) {
    throw refusal('CURSOR_MALFORMED', {
      expected: 'nextCursor of an earlier page',
      got: 'another text',
      rule: 'apps/control-plane/README.md, pagination',
      action: 'Start again without a cursor.',
    });
  }
  return decoded;
}

/** @param rows  one more than `limit` when there is a next page */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  position: (row: R) => string,
  view: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items: shown.map(view), nextCursor: more ? encodeCursor(position(last)) : null };
}
