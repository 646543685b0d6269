/** Whose key or session asks, and what it may do. */
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Address, roles, scopes } from '#libs/wire';
import { ApiKeys } from './api-keys.js';
import type { Principal } from './principal.js';
import { Sessions } from './sessions.js';

export const Me = z
  .object({
    keyId: z.string(),
    name: z.string(),
    /** null: of every tenant. */
    tenant: z.string().nullable(),
    role: z.enum(roles),
    provider: Address.nullable(),
    expiresAt: z.iso.datetime().nullable(),
    /** null: all that the role may. */
    scopes: z.array(z.enum(scopes)).nullable(),
    /** When the session of the console ends, however much it is used; null: the key itself asks. */
    sessionEndsAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Me' });
export type Me = z.infer<typeof Me>;

@Injectable()
export class Mine {
  constructor(
    private readonly keys: ApiKeys,
    private readonly sessions: Sessions,
  ) {}

  async of({ keyId, session }: Principal): Promise<Me> {
    const { name, tenant, role, provider, expiresAt, scopes: own } = await this.keys.view(keyId);
    const ends = session === undefined ? null : await this.sessions.endOf(session);
    return { keyId, name, tenant, role, provider, expiresAt, scopes: own, sessionEndsAt: ends?.toISOString() ?? null };
  }
}
