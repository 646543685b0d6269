/** A path that is there for other methods than the one that was asked for (RFC 9110, 15.5.6). */
import type { Request } from 'express';
import type { CodedError } from '#attestation/base';
import { refusal } from '../../core/problem/codes.js';

interface RouteLayer {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

/** Null where no route has the path, and where one has it with this method. */
export function wrongMethod({ app, path, method }: Request): { error: CodedError; allow: string } | null {
  const { stack } = app.router as unknown as { readonly stack: readonly RouteLayer[] };
  const routes = stack.flatMap((layer) => (layer.route !== undefined && layer.match(path) ? [layer.route] : []));
  const names = new Set(routes.flatMap(({ methods }) => Object.keys(methods).map((name) => name.toUpperCase())));
  if (names.has('GET')) names.add('HEAD');
  if (names.size === 0 || names.has(method)) return null;
  const allow = [...names].sort().join(', ');
  const error = refusal('METHOD_NOT_ALLOWED', {
    expected: `one of the methods of this path: ${allow}`,
    got: `${method} ${path.slice(0, 200)}`,
    rule: 'openapi.json',
    action: 'Use a method that Allow names: /docs lists what each does.',
  });
  return { error, allow };
}
