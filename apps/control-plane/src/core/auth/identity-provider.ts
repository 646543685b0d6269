/**
 * Asks the identity provider who somebody is: authorisation code with PKCE, state and nonce. What it answers counts with
 * its signature alone, though it comes over TLS.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Configuration } from 'openid-client';
import type { Rejection } from '#attestation/base';
import type { Logger } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import type { OidcConfig } from '../config/oidc.js';
import { CONFIG, LOGGER } from '../config/tokens.js';
import { refusal, type ApiCode } from '../problem/codes.js';
import { Clock } from '../timing/clock.js';

export const callbackPath = '/console/session/callback';
const answerBytesMax = 2 ** 20;
const secondsMax = 10;
/** What the provider says of itself is asked anew after this. */
const knownMilliseconds = 3_600_000;
const rule = 'apps/control-plane/README.md, console';

export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string };

type Client = typeof import('openid-client');
interface Known {
  readonly at: number;
  readonly asked: Promise<{ readonly client: Client; readonly configuration: Configuration }>;
}

@Injectable()
export class IdentityProvider {
  #known: Known | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  /** What people call it; null: there is none. */
  get name(): string | null {
    return this.config.oidc?.issuer.host ?? null;
  }

  /**
   * Where the browser goes to be told who it is.
   * @param attempt  random text of this attempt to sign in, which its browser alone keeps
   * @throws Rejection OIDC_OFF, OIDC_AWAY
   */
  async addressFor(attempt: string): Promise<URL> {
    const { oidc, client, configuration } = await this.ask();
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: oidc.consoleOrigin + callbackPath,
      scope: oidc.scope,
      state: part(attempt, 'state'),
      nonce: part(attempt, 'nonce'),
      code_challenge: await client.calculatePKCECodeChallenge(part(attempt, 'verifier')),
      code_challenge_method: 'S256',
    });
  }

  /**
   * Who came back.
   * @param query  of the address that the provider sent the browser to
   * @throws Rejection OIDC_OFF, OIDC_AWAY, OIDC_STATE, OIDC_REFUSED, OIDC_TOKEN
   */
  async claimsOf(query: URLSearchParams, attempt: string): Promise<Claims> {
    const [state, said] = [part(attempt, 'state'), query.get('state') ?? ''];
    if (said.length !== state.length || !timingSafeEqual(Buffer.from(said), Buffer.from(state))) throw foreignState();
    const { oidc, client, configuration } = await this.ask();
    const here = new URL(oidc.consoleOrigin + callbackPath);
    here.search = query.toString();
    const expected = { expectedState: state, expectedNonce: part(attempt, 'nonce'), idTokenExpected: true };
    try {
      const checks = { ...expected, pkceCodeVerifier: part(attempt, 'verifier') };
      const answer = await client.authorizationCodeGrant(configuration, here, checks);
      return answer.claims() as Claims;
    } catch (error) {
      throw this.refusedFor(client, error);
    }
  }

  private async ask(): Promise<{ oidc: OidcConfig; client: Client; configuration: Configuration }> {
    const { oidc } = this.config;
    if (oidc === null) {
      throw refusal('OIDC_OFF', {
        expected: 'a control plane with an identity provider in its settings',
        got: 'one without',
        rule,
        action: 'Sign in with an API key.',
      });
    }
    const at = this.clock.monotonic();
    if (this.#known === null || at - this.#known.at > knownMilliseconds) {
      const known: Known = { at, asked: discover(oidc) };
      this.#known = known;
      known.asked.catch(() => (this.#known = this.#known === known ? null : this.#known));
    }
    try {
      return { oidc, ...(await this.#known.asked) };
    } catch (error) {
      throw this.said('OIDC_AWAY', 'what the identity provider says of itself', error);
    }
  }

  private refusedFor(client: Client, error: unknown): Rejection {
    if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
      return this.said('OIDC_REFUSED', 'an identity provider that says who this is', error, error.error);
    }
    const isAway = error instanceof TypeError || (error as { code?: unknown }).code === 'OAUTH_TIMEOUT';
    if (isAway) return this.said('OIDC_AWAY', 'an answer of the identity provider', error);
    return this.said('OIDC_TOKEN', 'an ID token of this provider, for this client and this attempt, now', error);
  }

  /** Its own words stand in the log: in an answer they would help whoever tries. */
  private said(code: ApiCode, expected: string, error: unknown, got = 'another'): Rejection {
    const { message = '', cause } = error as { message?: string; cause?: unknown };
    const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
    this.logger.warn('a sign-in by the identity provider failed', { code, why: why.slice(0, 400) });
    const action = code === 'OIDC_AWAY' ? 'Try again, or sign in with an API key.' : 'Sign in again.';
    return refusal(code, { expected, got: /^[a-z_]{1,64}$/.test(got) ? got : 'another', rule, action });
  }
}

/** One secret of an attempt gives all that only its browser and this process may know. */
function part(attempt: string, name: 'state' | 'nonce' | 'verifier'): string {
  return createHmac('sha256', attempt).update(name).digest('base64url');
}

async function discover(oidc: OidcConfig) {
  const client = await import('openid-client');
  const { clientId, clientSecret, issuer } = oidc;
  const authentication = clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret);
  const configuration = await client.discovery(issuer, clientId, undefined, authentication, {
    timeout: secondsMax,
    [client.customFetch]: bounded,
    execute: [
      client.enableNonRepudiationChecks,
      ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  });
  return { client, configuration };
}

/** No answer fills the memory, and none leads elsewhere. */
async function bounded(url: string, options: object): Promise<Response> {
  const { status, headers, body } = await fetch(url, { ...options, redirect: 'manual' });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new TypeError(`an answer of more than ${answerBytesMax} bytes`);
    parts.push(chunk);
  }
  return new Response(bytes === 0 ? null : Buffer.concat(parts), { status, headers });
}

function foreignState(): Rejection {
  return refusal('OIDC_STATE', {
    expected: 'the answer to an attempt to sign in that this browser began in the last ten minutes',
    got: 'another',
    rule,
    action: 'Sign in again.',
  });
}
