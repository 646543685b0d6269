/** An identity provider of its own software, with a page to sign in at: whatever name one types, one is. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface RunningProvider {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  stop(): void;
}

interface Wanted {
  readonly redirect: string;
  /** Claims of whoever signs in, by name. */
  readonly claims: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export async function startIdentityProvider({ redirect, claims }: Wanted): Promise<RunningProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [clientId, clientSecret] = ['veritrain-console', randomBytes(24).toString('base64url')];
  const provider = new Provider(issuer.origin, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirect] }],
    pkce: { required: () => true },
    claims: { openid: ['sub', ...new Set(Object.values(claims).flatMap((one) => Object.keys(one)))] },
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(16).toString('hex')] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, ...claims[accountId] }),
    }),
  });
  server.on('request', provider.callback());
  return {
    issuer,
    clientId,
    clientSecret,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
