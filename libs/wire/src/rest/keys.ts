/** API keys as REST shows them: to the control plane, to its pages and to the command line. */
import { z } from 'zod';
import { Address } from '../dispatch/fields.js';

export const roles = ['client', 'operator', 'reviewer', 'admin'] as const;
export type Role = (typeof roles)[number];

/** `read` asks, `write` changes what is no key, `keys` makes and revokes keys and sets limits. */
export const scopes = ['read', 'write', 'keys'] as const;
export type Scope = (typeof scopes)[number];

export const KeyId = z.string().regex(/^[A-Za-z0-9]{4,32}$/);
export const KeyView = z.object({
  id: KeyId,
  /** null: of an administrator of every tenant. */
  tenant: z.string().nullable(),
  role: z.enum(roles),
  name: z.string(),
  provider: Address.nullable(),
  createdAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  /** To a minute. */
  lastUsedAt: z.iso.datetime().nullable(),
  /** null: all that its role may. */
  scopes: z.array(z.enum(scopes)).nullable(),
});
export type KeyView = z.infer<typeof KeyView>;
