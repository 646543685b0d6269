/**
 * Every page of the console in Chromium: under axe in light and dark, on a phone's width, with script in every string that
 * a node, a client or a bundle can choose. Pictures of all of them are kept in dist/screenshots, for people.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headings } from '#libs/review';
import { pattern } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { faultsOf, geometryOf } from '#test/page-faults';
import { corpus, htmlInText, type Sample } from '../../apps/console/test/corpus.js';
import { codeOf, type KeyName } from '../../apps/control-plane/test/harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  providers,
  refOf,
  register,
  shownInVain,
  submit,
  submitFunded,
} from '../../apps/control-plane/test/job-fixture.js';

const screenshots = 'dist/screenshots';
/** What would run, or break out, wherever text became markup, an address or style. */
const script = `<img src=x onerror=alert(1)>"'><script>alert(1)</script>`;

/** What no text may become; no page has any of its own. */
const markup = 'img, main script, iframe, [onerror], a[href^="javascript:"], [style]:not([style=""])';

/** The second without the page's own policy: what stands between a text and a script then is how texts are shown. */
const strengths = [
  { name: 'markup in every string', bypassCSP: false, isKept: () => false },
  {
    ...{ name: 'markup in every free text', bypassCSP: true },
    isKept: (text: string) => /^(0x[0-9a-f]+|[a-z][a-z+-]*|[0-9]{4}-[0-9-]+T.*|[0-9]+|wh_[0-9a-f]+)$/.test(text),
  },
] as const;
const eventTypes = [
  'state',
  'progress',
  'evaluation',
  'checkpoint',
  'renewed',
  'escrow',
  'delivery',
  'segment',
  'proof',
];
/** What a node may put into any event. */
const everyField = Object.fromEntries(
  [
    ...['at', 'from', 'to', 'code', 'step', 'of', 'loss', 'accuracy', 'tier', 'attestedUntil', 'escrowState', 'round'],
    ...['worker', 'nodeId', 'index', 'reason', 'detail', 'metrics'],
  ].map((name) => [name, name === 'metrics' ? [{ metric: script, numerator: script, denominator: '1' }] : script]),
);

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 320, height: 700 } },
  { name: 'phone-dark', colorScheme: 'dark', viewport: { width: 390, height: 800 } },
] as const;

const roles = ['client', 'otherClient', 'reviewer', 'operator', 'admin'] as const satisfies KeyName[];

/** Pages that show names and words of others: of jobs and nodes and why they failed, webhooks, tenants, keys. */
const planted: Readonly<Partial<Record<KeyName, readonly string[]>>> = {
  client: ['jobs', 'job', 'job-failed', 'webhooks', 'webhook'],
  operator: ['nodes', 'node'],
  admin: ['tenants', 'keys', 'audit', 'letters'],
};

describe.skipIf(!hasBrowser)('every page of the console', () => {
  let site: ConsoleSite;
  let pages: Readonly<Partial<Record<KeyName, readonly (readonly [name: string, path: string])[]>>>;
  let samples: ReadonlyMap<string, Sample>;
  beforeAll(async () => {
    samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
  }, 300_000);
  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    site = await startConsoleSite();
    pages = await furnish(site);
  });
  afterAll(async () => site?.stop());

  it.each(roles)(
    'has no fault for %s in any look, fits, and is kept as a picture',
    async (who) => {
      const { page, complaints, goTo, close } = await site.open(who);
      for (const [place, path] of pages[who]!) {
        await goTo(path);
        await settled(page);
        await expectLooks(page, `${who}-${place}`);
        await expectWhole(page, place);
        expect([place, await markupOf(page)]).toEqual([place, []]);
      }
      expect(complaints).toEqual([]);
      await close();
    },
    400_000,
  );

  it('has no fault where nobody is signed in', async () => {
    const { page, close } = await site.open(null);
    await expectLooks(page, 'sign-in');
    await close();
  });

  it.each(strengths)('shows $name of every answer as text, and runs none of it', async ({ isKept, bypassCSP }) => {
    for (const who of roles) {
      const { page, complaints, goTo, close } = await site.open(who, { bypassCSP });
      await answerWith(page, isKept);
      let shown = 0;
      for (const [place, path] of pages[who]!) {
        await goTo(path);
        await settled(page);
        expect([who, place, await markupOf(page)]).toEqual([who, place, []]);
        expect(await page.locator('main h1').count(), place).toBe(1);
        shown += ((await page.textContent('main')) ?? '').split('onerror=alert(1)').length - 1;
      }
      expect(complaints.filter(isOfPage)).toEqual([]);
      if (!who.startsWith('other') && who !== 'reviewer') expect([who, shown > 0]).toEqual([who, true]);
      await close();
    }
  });

  it.each([false, true])('is found out where texts become markup (without its policy: %s)', async (bypassCSP) => {
    for (const [who, places] of Object.entries(planted)) {
      const { page, complaints, goTo, close } = await site.open(who as KeyName, { bypassCSP });
      await answerWith(page, strengths[0].isKept);
      await page.addInitScript({ content: sink });
      page.setDefaultTimeout(5_000);
      for (const [place, path] of pages[who as KeyName]!.filter(([name]) => places.includes(name))) {
        complaints.splice(0);
        // Under its policy the page breaks.
        await goTo(path).catch((error: unknown) => complaints.push(String(error)));
        await settled(page);
        const found = [...complaints.filter(isOfPage), ...(await markupOf(page))];
        expect([who, place, found.length > 0]).toEqual([who, place, true]);
        if (bypassCSP) expect(found.join(), place).toContain('dialog: 1');
      }
      await close();
    }
  });

  it.each(['good', 'receipt-altered', 'html-in-text', 'not-cbor'])(
    'judges a bundle in the browser, by the reviewer’s own parts, and runs nothing out of it: %s',
    async (name) => {
      const { page, complaints, goTo, close } = await site.open('client');
      const { bytes, heading } = samples.get(name)!;
      await page.route('**/bundle', (route) => route.fulfill({ body: Buffer.from(bytes) }));
      await goTo(`/jobs/0x${'12'.repeat(32)}/evidence`);
      await page.waitForSelector('#verdict', { timeout: 30_000 });
      expect(await page.textContent('#verdict')).toContain(headings[heading]);
      expect(await page.locator('h1').count()).toBe(1);
      expect(await faultsOf(page)).toEqual([]);
      if (name === 'html-in-text') expect(await page.textContent('main')).toContain(htmlInText);
      await page.screenshot({ path: join(screenshots, `client-evidence-${name}.png`), fullPage: true });
      expect(complaints).toEqual([]);
      await close();
    },
  );

  it('is walled off from roles that it is not for', async () => {
    const { page, goTo, close } = await site.open('operator');
    for (const path of ['/jobs', '/keys', '/audit', '/new', '/nowhere']) {
      await goTo(path);
      expect(await page.textContent('main h1')).toBe('There is no such page for you');
    }
    await close();
  });
});

const markupOf = (page: Page): Promise<string[]> =>
  page.$$eval(markup, (all) => all.map((one) => one.outerHTML.slice(0, 200)));

/** What comes without being waited for: streams, curves. */
const settled = (page: Page): Promise<void> => page.waitForTimeout(400);

/** An id that was altered leads nowhere, and the stream is cut off. */
const isOfPage = (complaint: string): boolean => !/net::ERR_FAILED|status of 404/.test(complaint);

async function expectLooks(page: Page, place: string): Promise<void> {
  for (const { name, colorScheme, viewport } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    expect([place, name, await faultsOf(page)]).toEqual([place, name, []]);
    expect([place, name, await geometryOf(page)]).toEqual([place, name, { width: viewport.width, small: 0 }]);
    await page.screenshot({ path: join(screenshots, `${place}-${name}.png`), fullPage: true });
  }
}

/** On a laptop no column of a table is cut off. */
async function expectWhole(page: Page, place: string): Promise<void> {
  await page.setViewportSize({ width: 1024, height: 768 });
  const cut = await page.$$eval('.scroll', (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
  expect([place, cut]).toEqual([place, 0]);
}

/** Script in every string of every answer that is not kept, and in every event. */
async function answerWith(page: Page, isKept: (text: string) => boolean): Promise<void> {
  const marked = (value: unknown): unknown => {
    if (typeof value === 'string') return isKept(value) ? value : script;
    if (Array.isArray(value)) return value.map(marked);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, marked(inner)]));
  };
  await page.route(/\/v1\/(?!me$)/, async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/v1/events') return route.abort();
    if (pathname.endsWith('/events')) {
      const body = eventTypes
        .map((type, index) => `id: ${index + 1}\nevent: ${type}\ndata: ${JSON.stringify(everyField)}\n\n`)
        .join('');
      return route.fulfill({ contentType: 'text/event-stream', body });
    }
    const response = await route.fetch();
    return route.fulfill({ response, json: marked(await response.json()) });
  });
}

/** In the page: a text that holds markup is made markup, as by a rendering that knows no better. */
const sink = `
  const textNode = document.createTextNode.bind(document);
  document.createTextNode = (text) => {
    if (!String(text).includes('<')) return textNode(text);
    const element = document.createElement('span');
    element.innerHTML = text;
    return element;
  };
`;

/** Jobs in many states, with whatever a stranger may say in them. */
async function furnish({ test }: ConsoleSite): Promise<Partial<Record<KeyName, [string, string][]>>> {
  const nodeId = await register(test, script.slice(0, 60));
  const url = `http://127.0.0.1:9/${encodeURIComponent(script)}?${script.replaceAll(' ', '/')}`;
  const hook = (await test.as('client').post('/v1/webhooks', { url }).expect(201)).body as { id: string };
  await codeOf(test.send(pattern.leaseProgress, { [script]: script }));
  const failed = await submitFunded(test);
  const first = await acquire(test, nodeId);
  await advanceTo(test, first, 'running');
  await test.send(pattern.leaseFail, { ...refOf(first), code: 'HOST_SAYS', detail: script, retry: false });
  const refused = await submitFunded(test);
  await test.send(pattern.leaseAttested, { ...refOf(await acquire(test, nodeId)), ...shownInVain });
  // Whom a policy has refused gets no further job under it for a while.
  const another = await register(test, 'milan-2');
  const job = await submitFunded(test);
  const grant = await acquire(test, another);
  await advanceTo(test, grant, 'running');
  for (let step = 0; step < 5; step += 1) {
    test.clock.pass(2);
    const figures = { loss: 2.3 / (step + 1), accuracy: 1 - 0.8 / (step + 1), samplesPerSecond: 9000 };
    await test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, ...figures });
  }
  await checkpoint(test, grant, job, 0);
  await submit(test);
  for (const [name, data] of [
    ['JobAccepted', { provider: providers.operator }],
    ['JobEnded', { state: '6', toProvider: '700000000000000000', toClient: '0' }],
  ] as const) {
    test.chain.mine({ escrowId: failed.escrowId, name, data });
  }
  await confirm(test);
  await test.as('admin').post('/v1/keys', { tenant: script.slice(0, 60), role: 'client', name: script.slice(0, 60) });
  await test.as(null).get(`/v1/jobs/${encodeURIComponent(script)}`);
  const jobs: [string, string][] = [
    ['jobs', '/jobs'],
    ['job', `/jobs/${job.jobId}`],
    ['job-failed', `/jobs/${failed.jobId}`],
    ['job-refused', `/jobs/${refused.jobId}`],
  ];
  return {
    client: [
      ...jobs,
      ['jobs-none', '/jobs?state=disputed&since=week&search=0x00'],
      ['new', '/new'],
      ['data', '/data'],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${hook.id}`],
      ['nodes', '/nodes'],
      ['log', '/log'],
      ['review', '/review'],
      ['you', '/you'],
    ],
    otherClient: [
      ['jobs-empty', '/jobs'],
      ['data-empty', '/data'],
      ['webhooks-empty', '/webhooks'],
    ],
    reviewer: [['jobs', '/jobs']],
    operator: [
      ['nodes', '/nodes'],
      ['node', `/nodes/${nodeId}`],
      ['earnings', '/earnings'],
    ],
    admin: [
      ['tenants', '/tenants'],
      ['keys', '/keys'],
      ['audit', '/audit'],
      ['letters', '/letters'],
      ['log', '/log'],
      ['nowhere', '/nowhere'],
    ],
  };
}
