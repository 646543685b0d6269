/** Who is asking. */
import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Role } from '#libs/persistence';

export interface Principal {
  readonly keyId: string;
  readonly tenant: string;
  readonly role: Role;
  /** The one account that an operator's nodes may be paid to, 0x-hexadecimal; null for other roles. */
  readonly provider: string | null;
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
export function carrierOf(context: ExecutionContext): Carrier {
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

/** Admins see every tenant; everybody else their own. */
export function seesTenant(principal: Principal, tenant: string): boolean {
  return principal.role === 'admin' || principal.tenant === tenant;
}
