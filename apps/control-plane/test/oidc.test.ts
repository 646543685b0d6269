/** Signing in to the console by an identity provider, under attack by everybody on the way, the provider among them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readOidc, type OidcConfig } from '../src/core/config/oidc.js';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import { clientId, clientSecret, HostileProvider, type Token } from './hostile-provider.js';

const host = 'console.test';
const own = { host, origin: `https://${host}`, 'x-veritrain-console': '1', 'sec-fetch-site': 'same-origin' };
const provider = new HostileProvider();
let test: TestPlane;

beforeAll(async () => {
  await provider.start();
  test = await startTestPlane({ oidc: settings(), trustProxy: (_address, hop) => hop < 1 });
});
afterAll(async () => {
  await test.stop();
  provider.stop();
});
beforeEach(() => {
  provider.token = {};
  provider.instead = null;
});

function settings(): OidcConfig {
  return {
    ...{ issuer: new URL(provider.issuer), clientId, clientSecret, scope: 'openid groups' },
    consoleOrigin: `https://${host}`,
    rules: [
      { claims: { groups: 'acme-admins' }, tenant: 'acme', role: 'admin', provider: null, scopes: ['read'] },
      { claims: { email: 'root@acme.test' }, tenant: null, role: 'admin', provider: null, scopes: null },
      { claims: { groups: 'acme', dept: 'ml' }, tenant: 'acme', role: 'client', provider: null, scopes: null },
      { claims: { sub: 'ada' }, tenant: 'acme', role: 'reviewer', provider: null, scopes: null },
    ],
  };
}

const server = () => request(test.plane.app.getHttpServer());

interface Attempt {
  readonly cookie: string;
  readonly query: URLSearchParams;
  readonly address: URL;
}

let visitors = 0;
/** Each request from an address of its own, for attempts of one are counted. */
const addressOf = (): string => `192.0.2.${(visitors += 1)}`;

async function begin(headers: Readonly<Record<string, string>> = {}): Promise<Attempt> {
  const answer = await server()
    .post('/console/session/oidc')
    .set({ ...own, ...headers, 'x-forwarded-for': addressOf() })
    .send({})
    .expect(200);
  const address = new URL((answer.body as { location: string }).location);
  const cookie = answer.headers['set-cookie']![0]!.split(';')[0]!;
  return { cookie, query: provider.visit(address), address };
}

const back = (query: URLSearchParams, cookie = '') =>
  server()
    .get(`/console/session/callback?${query.toString()}`)
    .set({ host, cookie, 'sec-fetch-site': 'cross-site', 'x-forwarded-for': addressOf() })
    .expect(303);

/** Where a sign-in ends, and the session that it gives. */
async function signIn(token: Token = {}): Promise<{ readonly to: string; readonly session: string | undefined }> {
  provider.token = token;
  const { cookie, query } = await begin();
  return endOf(await back(query, cookie));
}

function endOf({ headers }: request.Response): { readonly to: string; readonly session: string | undefined } {
  const cookies = headers['set-cookie'] as unknown as string[];
  const session = cookies.find((one) => one.startsWith('__Host-vt='))?.split(';')[0];
  return { to: headers['location']!.replace('/console?refused=', ''), session };
}

const me = (cookie: string | undefined) =>
  server()
    .get('/v1/me')
    .set({ host, cookie: cookie ?? '' });

describe('somebody whom the provider knows', () => {
  it('enters as the first rule that fits says, with a new cookie that no script reads', async () => {
    const { cookie, query, address } = await begin();
    expect(address.origin).toBe(provider.issuer);
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      ...{ response_type: 'code', client_id: clientId, code_challenge_method: 'S256', scope: 'openid groups' },
      redirect_uri: `https://${host}/console/session/callback`,
    });
    const answer = await back(query, cookie);
    const [over, session] = answer.headers['set-cookie'] as unknown as string[];
    expect(over).toMatch(/^__Host-vt-attempt=; .*Max-Age=0$/);
    expect(session).toMatch(/^__Host-vt=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect(answer.headers['location']).toBe('/console');
    const { body } = await me(session!.split(';')[0]).expect(200);
    expect(body).toMatchObject({ tenant: 'acme', role: 'reviewer', name: 'ada', scopes: null });
    expect(test.logs.join('')).not.toContain(session!.slice(10, 53));
  });

  it('stands for what the newest claims say, the sessions from before too', async () => {
    const before = await signIn();
    const asClient = await signIn({ claims: { groups: ['x', 'acme'], dept: 'ml', email: 'ada@acme.test' } });
    for (const session of [before.session, asClient.session]) {
      expect((await me(session).expect(200)).body).toMatchObject({ role: 'client', name: 'ada@acme.test' });
    }
    const asAdmin = await signIn({ claims: { groups: 'acme-admins' } });
    expect((await me(asAdmin.session).expect(200)).body).toMatchObject({ role: 'admin', scopes: ['read'] });
    const making = server()
      .post('/v1/keys')
      .set({ ...own, cookie: asAdmin.session!, 'idempotency-key': 'by-a-reader' });
    expect((await making.send({ tenant: 'acme', role: 'client' }).expect(403)).body.code).toBe('SCOPE_FORBIDDEN');
  });

  it('has no more by an address that nobody verified, and enters without a rule not at all', async () => {
    const claims = { sub: 'mallory', email: 'root@acme.test' };
    expect(await signIn({ claims })).toEqual({ to: 'OIDC_NO_ROLE', session: undefined });
    expect(await signIn({ claims: { ...claims, email_verified: 'true' } })).toMatchObject({ to: 'OIDC_NO_ROLE' });
    const verified = await signIn({ claims: { ...claims, email_verified: true } });
    expect((await me(verified.session).expect(200)).body).toMatchObject({ role: 'admin', tenant: null });
    for (const groups of [['acme'], 'acme ', { acme: true }, 'constructor']) {
      expect(await signIn({ claims: { sub: 'eve', groups } })).toMatchObject({ to: 'OIDC_NO_ROLE' });
    }
  });

  it('is listed, revoked and shut out like a key, and is no other person’s', async () => {
    const { session } = await signIn({ claims: { sub: 'ada' } });
    const { keyId } = (await me(session)).body as { keyId: string };
    const { items } = (await test.as('tenantAdmin').get('/v1/keys?limit=200')).body as { items: { id: string }[] };
    expect(items.map(({ id }) => id)).toContain(keyId);
    await test.as('tenantAdmin').post(`/v1/keys/${keyId}/revoke`, {}).expect(200);
    await me(session).expect(401);
    expect(await signIn()).toEqual({ to: 'OIDC_REVOKED', session: undefined });
    const another = await signIn({ claims: { sub: 'bob', groups: ['acme'], dept: 'ml' } });
    expect(((await me(another.session).expect(200)).body as { keyId: string }).keyId).not.toBe(keyId);
    const audited = async (): Promise<string> => (await test.as('admin').get('/v1/audit?limit=50')).text;
    await expect.poll(audited).toContain('OIDC_REVOKED');
  });
});

describe('a token', () => {
  const now = Math.floor(Date.now() / 1000);
  const bob = { sub: 'bob', groups: ['acme'], dept: 'ml' };
  const forged: readonly (readonly [what: string, token: () => Token])[] = [
    ['without a signature', () => ({ header: { alg: 'none' }, signer: 'none' })],
    ['without a signature, whose header says otherwise', () => ({ signer: 'none' })],
    ['of another signer', () => ({ signer: 'other' })],
    ['of a key that nobody published', () => ({ header: { kid: 'two' }, signer: 'other' })],
    ['with a MAC by the client’s secret', () => ({ header: { alg: 'HS256' }, signer: { secret: clientSecret } })],
    ['with a MAC by the public key', () => ({ header: { alg: 'HS256' }, signer: { secret: provider.publicPem } })],
    ['of another issuer', () => ({ claims: { iss: 'https://evil.test' } })],
    ['for another client', () => ({ claims: { aud: 'another' } })],
    ['for several, by another', () => ({ claims: { aud: [clientId, 'another'], azp: 'another' } })],
    ['that has expired', () => ({ claims: { iat: now - 900, exp: now - 600 } })],
    ['without an end', () => ({ claims: { exp: undefined } })],
    ['that is not yet good', () => ({ claims: { nbf: now + 600 } })],
    ['of another attempt', () => ({ claims: { nonce: 'another' } })],
    ['of no attempt', () => ({ claims: { nonce: undefined } })],
    ['of nobody', () => ({ claims: { sub: undefined } })],
  ];

  it.each(forged)('%s lets nobody in', async (_what, make) => {
    const token = make();
    const claims = { ...bob, ...token.claims };
    expect(await signIn({ ...token, claims })).toEqual({ to: 'OIDC_TOKEN', session: undefined });
    expect((await signIn({ claims: bob })).to).toBe('/console');
  });

  it('that does not come, comes late or is no token lets nobody in', async () => {
    const { cookie, query } = await begin();
    const answers: readonly (readonly [string, typeof provider.instead])[] = [
      ['OIDC_TOKEN', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>')],
      ['OIDC_TOKEN', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":')],
      [
        'OIDC_TOKEN',
        (response) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"access_token":"a","token_type":"Bearer"}'),
      ],
      [
        'OIDC_REFUSED',
        (response) => response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
      ],
      ['OIDC_AWAY', (response) => response.destroy()],
      [
        'OIDC_AWAY',
        (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.alloc(2 ** 21, 0x20)),
      ],
      ['OIDC_TOKEN', (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/token' }).end()],
    ];
    for (const [code, instead] of answers) {
      provider.instead = instead;
      expect(endOf(await back(query, cookie))).toEqual({ to: code, session: undefined });
    }
  });
});

describe('an attempt', () => {
  it('is of one browser: no other answer ends it, and it ends no other', async () => {
    provider.token = { claims: { sub: 'bob', groups: ['acme'], dept: 'ml' } };
    const [first, second] = [await begin(), await begin()];
    const wrongs: readonly (readonly [URLSearchParams, string])[] = [
      [second.query, first.cookie],
      [second.query, ''],
      [second.query, '__Host-vt-attempt=1767225600.AAAA'],
      [new URLSearchParams({ code: 'test-code' }), second.cookie],
      [new URLSearchParams({ code: 'test-code', state: '' }), second.cookie],
    ];
    for (const [query, cookie] of wrongs) {
      expect(endOf(await back(query, cookie))).toEqual({ to: 'OIDC_STATE', session: undefined });
    }
    expect(endOf(await back(second.query, second.cookie)).to).toBe('/console');
  });

  it('takes no code that was made for another: the provider hears another verifier', async () => {
    const [victim, attacker] = [await begin(), await begin()];
    const stolen = new URLSearchParams(attacker.query);
    stolen.set('state', victim.query.get('state')!);
    expect(endOf(await back(stolen, victim.cookie))).toEqual({ to: 'OIDC_REFUSED', session: undefined });
  });

  it('says what the provider refused, and nothing of its words', async () => {
    const { cookie, query } = await begin();
    const refused = new URLSearchParams({ state: query.get('state')!, error: 'access_denied' });
    refused.set('error_description', '<script>alert(1)</script>');
    const answer = await back(refused, cookie);
    expect(endOf(answer)).toEqual({ to: 'OIDC_REFUSED', session: undefined });
    expect(JSON.stringify(answer.headers)).not.toContain('script');
  });

  it('lasts ten minutes', async () => {
    const { cookie, query } = await begin();
    test.clock.pass(601);
    expect(endOf(await back(query, cookie)).to).toBe('OIDC_STATE');
  });

  it('ends the session that was there, and takes none that somebody planted', async () => {
    const { session } = await signIn({ claims: { sub: 'carol', groups: ['acme'], dept: 'ml' } });
    await me(session).expect(200);
    const planted = `__Host-vt=${'A'.repeat(43)}`;
    const { cookie, query } = await begin({ cookie: session! });
    await me(session).expect(401);
    provider.token = { claims: { sub: 'carol', groups: ['acme'], dept: 'ml' } };
    const next = endOf(await back(query, `${cookie}; ${planted}`));
    expect(next.session).not.toBe(planted);
    await me(planted).expect(401);
    await me(next.session).expect(200);
  });

  it('is begun by the console’s own pages alone, and over https', async () => {
    const wrongs: readonly Readonly<Record<string, string>>[] = [
      { ...own, origin: 'https://evil.test' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'x-veritrain-console': '' },
      { ...own, origin: `http://${host}` },
    ];
    for (const wrong of wrongs) await server().post('/console/session/oidc').set(wrong).send({}).expect(403);
  });
});

describe('a control plane', () => {
  it('says how one signs in, and without a provider knows only keys', async () => {
    const way = await server().get('/console/session').set({ host }).expect(200);
    expect(way.body).toEqual({ provider: new URL(provider.issuer).host, hasCookie: false });
    const plain = await startTestPlane();
    const bare = request(plain.plane.app.getHttpServer());
    expect((await bare.get('/console/session').expect(200)).body).toEqual({ provider: null, hasCookie: false });
    expect((await bare.post('/console/session/oidc').set(own).send({}).expect(404)).body.code).toBe('OIDC_OFF');
    await bare.post('/console/session').set(own).send({ key: keys.client }).expect(204);
    await plain.stop();
  });

  it('starts while its provider is away, and finds it later', async () => {
    const late = new HostileProvider();
    await late.start();
    const issuer = new URL(late.issuer);
    late.stop();
    const plane = await startTestPlane({ oidc: { ...settings(), issuer } });
    const { body } = await request(plane.plane.app.getHttpServer())
      .post('/console/session/oidc')
      .set(own)
      .send({})
      .expect(503);
    expect(body.code).toBe('OIDC_AWAY');
    await plane.stop();
  });
});

describe('settings', () => {
  const directory = mkdtempSync(join(tmpdir(), 'veritrain-oidc-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const good = () => ({
    VERITRAIN_OIDC_ISSUER: 'https://id.example.org/realms/one',
    VERITRAIN_OIDC_CLIENT_ID: clientId,
    VERITRAIN_OIDC_SECRET: file('secret', `${clientSecret}\n`),
    VERITRAIN_OIDC_RULES: file('rules.json', '[{"claims":{"groups":"a"},"tenant":"acme","role":"client"}]'),
    VERITRAIN_CONSOLE_URL: 'https://console.example.org',
  });

  it('are all there or none, and what is wrong is named', () => {
    expect(readOidc({})).toBeNull();
    expect(readOidc(good())).toMatchObject({
      clientSecret,
      scope: 'openid',
      rules: [{ tenant: 'acme', scopes: null }],
    });
    const wrong: readonly (readonly [string, Readonly<Record<string, string | undefined>>])[] = [
      ['all of VERITRAIN_OIDC_ISSUER', { VERITRAIN_OIDC_ISSUER: undefined }],
      ['all of VERITRAIN_OIDC_ISSUER', { VERITRAIN_CONSOLE_URL: undefined }],
      ['VERITRAIN_OIDC_ISSUER as an https', { VERITRAIN_OIDC_ISSUER: 'http://id.example.org' }],
      ['VERITRAIN_CONSOLE_URL without a path', { VERITRAIN_CONSOLE_URL: 'https://console.example.org/console' }],
      ['VERITRAIN_OIDC_SCOPE', { VERITRAIN_OIDC_SCOPE: 'profile' }],
      ['VERITRAIN_OIDC_SECRET', { VERITRAIN_OIDC_SECRET: '/nowhere' }],
      ['VERITRAIN_OIDC_RULES', { VERITRAIN_OIDC_RULES: file('none.json', '[]') }],
      ['VERITRAIN_OIDC_RULES', { VERITRAIN_OIDC_RULES: file('text.json', 'acme') }],
      [
        'VERITRAIN_OIDC_RULES',
        { VERITRAIN_OIDC_RULES: file('all.json', '[{"claims":{},"tenant":"a","role":"client"}]') },
      ],
      ['VERITRAIN_OIDC_RULES', { VERITRAIN_OIDC_RULES: file('root.json', '[{"claims":{"a":"b"},"role":"client"}]') }],
      [
        'VERITRAIN_OIDC_RULES',
        { VERITRAIN_OIDC_RULES: file('paid.json', '[{"claims":{"a":"b"},"tenant":"a","role":"operator"}]') },
      ],
    ];
    for (const [expected, change] of wrong) {
      expect(() => readOidc({ ...good(), ...change })).toThrow(expected);
    }
  });
});
