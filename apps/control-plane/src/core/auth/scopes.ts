/** What a key may do of what its role may: a key for a dashboard reads, one for a pipeline changes jobs but makes no keys. */
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { GraphQLResolveInfo } from 'graphql';
import { refusal } from '../problem/codes.js';
import type { Principal } from './principal.js';
import type { Scope } from '#libs/wire';

const keysPath = /^\/v1\/(keys|tenants)(\/|$)/;
/** Mutations that do what those paths do. */
const keysMutations = new Set(['limitTenant', 'revokeKey']);

/** @throws Rejection SCOPE_FORBIDDEN */
export function checkScope({ scopes }: Principal, context: ExecutionContext): void {
  const needed = scopeOf(context);
  if (scopes === null || scopes.includes(needed)) return;
  throw refusal('SCOPE_FORBIDDEN', {
    expected: `a key with scope ${needed}`,
    got: scopes.join(', '),
    rule: 'apps/control-plane/README.md, authorisation',
    action: 'Use a key that was made for this.',
  });
}

/** A key makes no key that may do more than itself. @throws Rejection SCOPE_FORBIDDEN */
export function checkHandedOn({ scopes }: Principal, wanted: readonly Scope[] | null): void {
  if (scopes === null || wanted?.every((scope) => scopes.includes(scope)) === true) return;
  throw refusal('SCOPE_FORBIDDEN', {
    expected: `scopes among ${scopes.join(', ')}`,
    got: wanted?.join(', ') ?? 'all of the role',
    rule: 'apps/control-plane/README.md, authorisation',
    action: 'Make the key with a key that has these scopes.',
  });
}

function scopeOf(context: ExecutionContext): Scope {
  switch (context.getType<'http' | 'rpc' | 'graphql'>()) {
    case 'rpc':
      return 'write';
    case 'graphql': {
      const { parentType, fieldName } = context.getArgByIndex<GraphQLResolveInfo>(3);
      if (parentType.name !== 'Mutation') return 'read';
      return keysMutations.has(fieldName) ? 'keys' : 'write';
    }
    case 'http': {
      const { method, path } = context.switchToHttp().getRequest<Request>();
      if (method === 'GET' || method === 'HEAD') return 'read';
      return keysPath.test(path) ? 'keys' : 'write';
    }
  }
}
