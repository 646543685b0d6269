/** An identity provider that says of its tokens whatever a test wants: what a stranger, or a provider gone bad, would send. */
import { createHash, createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const clientId = 'veritrain-console';
export const clientSecret = 'test-client-secret-0123456789';

const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export interface Token {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Who signs: the provider, somebody else, nobody, or whoever knows the text that a MAC was keyed with. */
  readonly signer?: 'own' | 'other' | 'none' | { readonly secret: string };
}

export class HostileProvider {
  readonly #own = pair();
  readonly #other = pair();
  readonly #server = createServer((request, response) => void this.answer(request, response));
  /** What the next code is exchanged for. */
  token: Token = {};
  /** Instead of an answer with a token. */
  instead: ((response: ServerResponse) => void) | null = null;
  #nonce = '';
  #challenge = '';

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get publicPem(): string {
    return this.#own.publicKey.export({ type: 'spki', format: 'pem' }) as string;
  }

  /** The browser was sent here: what the code will be bound to. @returns the query that leads back */
  visit(address: URL): URLSearchParams {
    const said = address.searchParams;
    this.#nonce = said.get('nonce') ?? '';
    this.#challenge = said.get('code_challenge') ?? '';
    return new URLSearchParams({ code: 'test-code', state: said.get('state') ?? '' });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.issuer).pathname;
    if (path === '/.well-known/openid-configuration') return send(response, 200, this.metadata());
    if (path === '/jwks') return send(response, 200, { keys: [this.jwk()] });
    if (path !== '/token') return send(response, 404, {});
    if (this.instead !== null) return this.instead(response);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const verifier = new URLSearchParams(body).get('code_verifier') ?? '';
    if (!isTheClient(request.headers.authorization)) return send(response, 401, { error: 'invalid_client' });
    const isBound = createHash('sha256').update(verifier).digest('base64url') === this.#challenge;
    if (!isBound) return send(response, 400, { error: 'invalid_grant' });
    send(response, 200, { access_token: 'test-access', token_type: 'Bearer', id_token: this.idToken() });
  }

  private metadata() {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      // It allows everything: what is taken hangs on whoever asks.
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    };
  }

  private jwk() {
    return { ...this.#own.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  }

  private idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.issuer, aud: clientId, sub: 'ada', nonce: this.#nonce, iat: now, exp: now + 300 };
    const { header, claims, signer = 'own' } = this.token;
    const signed = `${json({ alg: 'RS256', kid: 'one', ...header })}.${json({ ...usual, ...claims })}`;
    if (signer === 'none') return `${signed}.`;
    if (typeof signer === 'object') {
      return `${signed}.${createHmac('sha256', signer.secret).update(signed).digest('base64url')}`;
    }
    const key: KeyObject = (signer === 'own' ? this.#own : this.#other).privateKey;
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  }
}

/** Both parts are form-encoded before they are joined (RFC 6749 §2.3.1). */
function isTheClient(authorization = ''): boolean {
  const said = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString('utf8');
  return said.split(':').map(decodeURIComponent).join(':') === `${clientId}:${clientSecret}`;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
