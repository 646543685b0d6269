/** Attacks the console over HTTP as a stranger would, and names every hole. Who serves it is not looked at. */
import { request as ask, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { keys, type KeyName } from './harness.js';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: object;
}

/** What must stand in the policy of every page, and what must not. */
const demanded = [
  ...["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "connect-src 'self'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'", "style-src 'self'"],
];
const forbidden = /'unsafe-(inline|eval|hashes)'|https?:|\*|script-src[^;]*(data:|blob:)/;

/** Roles, paths, and whether a session of the role may read them. */
const walls: readonly (readonly [KeyName, string, boolean])[] = [
  ['client', '/v1/jobs', true],
  ['client', '/v1/keys', false],
  ['client', '/v1/audit', false],
  ['client', '/v1/tenants', false],
  ['client', '/v1/dead-letters', false],
  ['operator', '/v1/earnings', true],
  ['operator', '/v1/jobs', false],
  ['operator', '/v1/keys', false],
  ['operator', '/v1/log', false],
  ['reviewer', '/v1/jobs', true],
  ['reviewer', '/v1/datasets', false],
  ['reviewer', '/v1/webhooks', false],
  ['tenantAdmin', '/v1/keys', true],
  ['tenantAdmin', '/v1/dead-letters', false],
];

export class ConsoleAttack {
  readonly #origin: string;

  /** @param port  on this machine */
  constructor(private readonly port: number) {
    this.#origin = `http://127.0.0.1:${port}`;
  }

  /** Empty where everything holds. */
  async holes(): Promise<string[]> {
    const found = [
      await this.pages(),
      await this.cookies(),
      await this.forgeries(),
      await this.roles(),
      await this.ends(),
    ];
    return found.flat();
  }

  private get own(): OutgoingHttpHeaders {
    return { origin: this.#origin, 'x-veritrain-console': '1', 'sec-fetch-site': 'same-origin' };
  }

  private async pages(): Promise<string[]> {
    const holes: string[] = [];
    for (const path of ['/console', '/console/jobs/0x12', '/console/nowhere']) {
      const { headers } = await this.send(path);
      const policy = String(headers['content-security-policy'] ?? '');
      for (const one of demanded) if (!policy.includes(one)) holes.push(`policy of ${path} without ${one}`);
      if (forbidden.test(policy)) holes.push(`policy of ${path} allows too much`);
      if (headers['cache-control'] !== 'no-store') holes.push(`${path} is kept`);
      if (headers['x-content-type-options'] !== 'nosniff') holes.push(`${path} may be sniffed`);
      if (headers['x-frame-options'] !== 'DENY') holes.push(`${path} stands in frames`);
    }
    return holes;
  }

  private async cookies(): Promise<string[]> {
    const planted = `__Host-vt=${'A'.repeat(43)}`;
    const { headers } = await this.signIn('client', { cookie: planted });
    const line = String(headers['set-cookie'] ?? '');
    const holes = ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/', '__Host-vt=']
      .filter((part) => !line.includes(part))
      .map((part) => `cookie without ${part}`);
    if (line.includes(planted)) holes.push('a planted cookie became a session');
    if ((await this.send('/v1/me', { headers: { cookie: planted } })).status !== 401)
      holes.push('a made-up cookie counts');
    return holes;
  }

  private async forgeries(): Promise<string[]> {
    const cookie = await this.cookieOf('admin');
    const wrongs: readonly (readonly [string, OutgoingHttpHeaders])[] = [
      ['another origin', { ...this.own, origin: 'https://evil.test' }],
      ['no origin', { 'x-veritrain-console': '1' }],
      ['an origin of null', { ...this.own, origin: 'null' }],
      ['another site', { ...this.own, 'sec-fetch-site': 'cross-site' }],
      ['a sister site', { ...this.own, 'sec-fetch-site': 'same-site' }],
      ['no header of the console', { origin: this.#origin }],
    ];
    const holes: string[] = [];
    for (const [what, headers] of wrongs) {
      const body = { tenant: 'acme', role: 'client' };
      const made = await this.send('/v1/keys', { method: 'POST', headers: { ...headers, cookie }, body });
      if (made.status !== 403) holes.push(`a change from ${what} counts`);
      const entered = await this.send('/console/session', { method: 'POST', headers, body: { key: keys.client } });
      if (entered.status !== 403) holes.push(`a sign-in from ${what} counts`);
    }
    const read = await this.send('/v1/keys', { headers: { cookie, 'sec-fetch-site': 'cross-site' } });
    if (read.status !== 403) holes.push('another site reads');
    const query = { query: '{ __typename }' };
    const graph = await this.send('/graphql', { method: 'POST', headers: { ...this.own, cookie }, body: query });
    if (graph.status !== 401) holes.push('the cookie counts for GraphQL');
    return holes;
  }

  private async roles(): Promise<string[]> {
    const holes: string[] = [];
    const cookies = new Map<KeyName, string>();
    for (const [who, path, isOpen] of walls) {
      const cookie = cookies.get(who) ?? (await this.cookieOf(who));
      cookies.set(who, cookie);
      const { status } = await this.send(path, { headers: { cookie } });
      if ((status === 200) !== isOpen) holes.push(`${who} ${isOpen ? 'is kept from' : 'reads'} ${path}`);
    }
    return holes;
  }

  private async ends(): Promise<string[]> {
    const cookie = await this.cookieOf('client');
    const out = await this.send('/console/session', { method: 'DELETE', headers: { ...this.own, cookie } });
    const after = await this.send('/v1/me', { headers: { cookie } });
    return out.status === 204 && after.status === 401 ? [] : ['who signed out is still in'];
  }

  private async cookieOf(who: KeyName): Promise<string> {
    const { headers } = await this.signIn(who);
    return String(headers['set-cookie'] ?? '').split(';')[0]!;
  }

  private signIn(who: KeyName, more: OutgoingHttpHeaders = {}): Promise<Answer> {
    const headers = { ...this.own, ...more };
    return this.send('/console/session', { method: 'POST', headers, body: { key: keys[who] } });
  }

  private send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const posted = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length };
    const key = method === 'POST' ? { 'idempotency-key': `attack-${Math.random()}` } : {};
    return new Promise((resolve, reject) => {
      const sent = ask(
        { host: '127.0.0.1', port: this.port, path, method, headers: { ...headers, ...posted, ...key } },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(parts).toString('utf8'),
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(text);
    });
  }
}
