/** Default deny: no handler runs without a key whose role it names, unless it is marked public. */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { BaseRpcContext } from '@nestjs/microservices';
import type { Response } from 'express';
import { refusal } from '../problem/codes.js';
import { ApiKeys } from './api-keys.js';
import { certificateName } from './connection.js';
import { checkOwnOrigin, type OwnRequest } from './own-origin.js';
import { ALLOWED, carrierOf, PUBLIC, type Principal } from './principal.js';
import { checkScope } from './scopes.js';
import { cookieOf, Sessions } from './sessions.js';
import type { Role } from '#libs/wire';

@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly keys: ApiKeys,
    private readonly sessions: Sessions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC, targets) === true) return true;
    const carrier = carrierOf(context);
    carrier.principal ??= await this.recognise(context, carrier.headers);
    if (context.getType() === 'rpc') checkCertificate(context, carrier.principal);
    const allowed = this.reflector.getAllAndOverride<readonly Role[] | undefined>(ALLOWED, targets) ?? [];
    if (!allowed.includes(carrier.principal.role)) throw forbidden(carrier.principal, allowed);
    checkScope(carrier.principal, context);
    return true;
  }

  /** A key counts everywhere, and before a cookie; the cookie of the console for REST alone, and from its own pages. */
  private async recognise(context: ExecutionContext, headers?: Record<string, unknown>): Promise<Principal> {
    const key = keyOf(context, headers);
    const cookie = key === undefined && context.getType() === 'http' ? cookieOf(headers ?? {}) : undefined;
    if (cookie === undefined) return this.keys.authenticate(key);
    const http = context.switchToHttp();
    checkOwnOrigin(http.getRequest<OwnRequest>());
    http.getResponse<Response>().setHeader('cache-control', 'no-store');
    return this.sessions.authenticate(cookie);
  }
}

function keyOf(context: ExecutionContext, headers: Record<string, unknown> | undefined): unknown {
  if (context.getType() === 'rpc') return context.switchToRpc().getData<{ auth?: unknown } | null>()?.auth;
  return bearerOf(headers ?? {});
}

export function bearerOf(headers: Readonly<Record<string, unknown>>): string | undefined {
  const header = headers['authorization'];
  return typeof header === 'string' ? /^Bearer (\S+)$/i.exec(header)?.[1] : undefined;
}

/** Over TLS a key is good with its own certificate alone: a stolen key needs the node's private key too. */
function checkCertificate(context: ExecutionContext, { keyId }: Principal): void {
  const name = certificateName(context.switchToRpc().getContext<BaseRpcContext>());
  if (name === null || name === keyId) return;
  throw refusal('CERTIFICATE_KEY', {
    expected: `a certificate for the common name ${keyId}, the id of the API key`,
    got: name.slice(0, 64) || 'a certificate without a name',
    rule: 'apps/control-plane/README.md, authorisation',
    action: 'Use the certificate that was made for this key.',
  });
}

function forbidden(principal: Principal, allowed: readonly Role[]) {
  return refusal('ROLE_FORBIDDEN', {
    expected: allowed.length === 0 ? 'nobody' : `role ${allowed.join(' or ')}`,
    got: `role ${principal.role}`,
    rule: 'apps/control-plane/README.md, authorisation',
    action: 'Use a key of such a role.',
  });
}
