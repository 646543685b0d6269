/** Signing in to the console by a real identity provider, in Chromium, as a person does: there, its page, and back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '#libs/process';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { startIdentityProvider, type RunningProvider } from '#test/identity-provider';
import { faultsOf } from '#test/page-faults';

describe.skipIf(!hasBrowser)('an identity provider in Chromium', () => {
  let site: ConsoleSite;
  let provider: RunningProvider;
  beforeAll(async () => {
    const port = await freePort();
    const consoleOrigin = `http://127.0.0.1:${port}`;
    provider = await startIdentityProvider({
      redirect: `${consoleOrigin}/console/session/callback`,
      claims: { ada: { groups: ['acme'], email: 'ada@acme.test', email_verified: true }, eve: { groups: ['other'] } },
    });
    const { issuer, clientId, clientSecret } = provider;
    const rule = { claims: { groups: 'acme' }, tenant: 'acme', role: 'client', provider: null, scopes: null } as const;
    site = await startConsoleSite({
      http: { host: '127.0.0.1', port },
      oidc: { issuer, clientId, clientSecret, scope: 'openid', consoleOrigin, rules: [rule] },
    });
  });
  afterAll(async () => {
    await site?.stop();
    provider?.stop();
  });

  it('lets in whom a rule knows, and tells everybody else why not', async () => {
    const { page, close } = await site.open(null);
    const goThrough = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: `Sign in with ${provider.issuer.host}` }).click();
      await page.fill('input[name=login]', name);
      await page.fill('input[name=password]', 'whatever');
      await page.click('button[type=submit]');
      await page.click('button[type=submit]');
    };
    expect(await faultsOf(page)).toEqual([]);
    await goThrough('eve');
    await page.getByRole('alert').waitFor();
    expect(await page.textContent('[role=alert]')).toContain('OIDC_NO_ROLE');
    await page.context().clearCookies();
    await page.goto(`${site.url}/console`);
    await goThrough('ada');
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    const cookies = await page.context().cookies(site.url);
    const own = cookies.filter(({ name }) => name.startsWith('__Host-vt'));
    expect(own).toMatchObject([{ name: '__Host-vt', httpOnly: true, secure: true, sameSite: 'Strict' }]);
    await page.getByRole('link', { name: 'client of acme' }).click();
    await page.getByText('ada@acme.test').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await close();
  });
});
