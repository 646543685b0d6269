/** Who is asking. */
import { createParamDecorator, SetMetadata, type ArgumentsHost, type ExecutionContext } from '@nestjs/common';
import { refusal } from '../problem/codes.js';
import type { Role, Scope } from '#libs/wire';

export interface Principal {
  readonly keyId: string;
  /** `everyTenant` for administrators of the whole. */
  readonly tenant: string;
  readonly role: Role;
  /** The one account that an operator's nodes may be paid to, 0x-hexadecimal; null for other roles. */
  readonly provider: string | null;
  /** What the key may do of what its role may; null: all of it. */
  readonly scopes: readonly Scope[] | null;
  /** Of somebody who signed in to the console: digest of the cookie. */
  readonly session?: string;
}

export const ALLOWED = 'veritrain:allowed';
export const PUBLIC = 'veritrain:public';

/** Roles that may call a handler. A handler with neither `Allow` nor `Public` is closed to everybody. */
export const Allow = (...roles: readonly Role[]) => SetMetadata(ALLOWED, roles);
/** For handlers that must answer without a key: health, metrics, documentation. */
export const Public = () => SetMetadata(PUBLIC, true);

interface Carrier {
  principal?: Principal;
  req?: Carrier;
  headers?: Record<string, unknown>;
}

/** Where the principal is kept: the request, the GraphQL context's request, or the message itself. */
export function carrierOf(context: ArgumentsHost): Carrier {
  switch (context.getType<'http' | 'rpc' | 'graphql'>()) {
    case 'http':
      return context.switchToHttp().getRequest<Carrier>();
    case 'graphql': {
      const graph = context.getArgByIndex<Carrier>(2);
      return graph.req ?? graph;
    }
    case 'rpc':
      return context.switchToRpc().getContext<Carrier>();
  }
}

export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const { principal } = carrierOf(context);
  if (principal === undefined) throw new Error('a handler that uses Caller is not guarded');
  return principal;
});

/** What stands for the tenant of a key that is of none: no tenant has an empty name. */
export const everyTenant = '';

export function isGlobal({ role, tenant }: Principal): boolean {
  return role === 'admin' && tenant === everyTenant;
}

/** Administrators without a tenant see every tenant; everybody else their own. */
export function seesTenant(principal: Principal, tenant: string): boolean {
  return isGlobal(principal) || principal.tenant === tenant;
}

/** For what is of no tenant. @throws Rejection ROLE_FORBIDDEN */
export function demandGlobal(principal: Principal): void {
  if (!isGlobal(principal)) throw forbiddenReach('a key without a tenant', `one of ${principal.tenant}`);
}

export function forbiddenReach(expected: string, got: string) {
  return refusal('ROLE_FORBIDDEN', {
    expected,
    got,
    rule: 'apps/control-plane/README.md, authorisation',
    action: 'Ask an administrator of every tenant.',
  });
}
