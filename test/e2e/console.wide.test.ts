/**
 * Every page of the console in Chromium: under axe in light and dark, on a phone's width, with script in every string that
 * a node, a client or a bundle can choose. Pictures of all of them are kept in dist/screenshots, for people.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headings } from '#libs/review';
import { pattern } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { faultsOf, geometryOf } from '#test/page-faults';
import { corpus, htmlInText } from '../../apps/console/test/corpus.js';
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

const strengths = [
  { name: 'markup in every string', isKept: () => false },
  {
    name: 'markup in every free text',
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

describe.skipIf(!hasBrowser)('every page of the console', () => {
  let site: ConsoleSite;
  let pages: Readonly<Partial<Record<KeyName, readonly (readonly [name: string, path: string])[]>>>;
  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    site = await startConsoleSite();
    pages = await furnish(site);
  });
  afterAll(async () => site?.stop());

  it.each(looks)('has no fault in $name, fits, runs nothing, and is kept as a picture', async ({ name, ...look }) => {
    const width = look.viewport.width;
    for (const [who, own] of Object.entries(pages)) {
      const { page, complaints, goTo, close } = await site.open(who as KeyName, look);
      for (const [place, path] of own) {
        await goTo(path);
        await page.waitForTimeout(500);
        expect([who, place, await faultsOf(page)]).toEqual([who, place, []]);
        expect([who, place, await geometryOf(page)]).toEqual([who, place, { width, small: 0 }]);
        expect(await page.locator('img, main script, iframe').count(), place).toBe(0);
        await page.screenshot({ path: join(screenshots, `${who}-${place}-${name}.png`), fullPage: true });
      }
      expect(complaints).toEqual([]);
      await close();
    }
    const { page, close } = await site.open(null, look);
    expect(await faultsOf(page)).toEqual([]);
    await page.screenshot({ path: join(screenshots, `sign-in-${name}.png`) });
    await close();
  });

  it.each(strengths)('shows $name of every answer as text, and runs none of it', async ({ isKept }) => {
    const marked = (value: unknown): unknown => {
      if (typeof value === 'string') return isKept(value) ? value : script;
      if (Array.isArray(value)) return value.map(marked);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, marked(inner)]));
    };
    for (const [who, own] of Object.entries(pages)) {
      const { page, complaints, goTo, close } = await site.open(who as KeyName);
      let shown = 0;
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
      for (const [place, path] of own) {
        await goTo(path);
        await page.waitForTimeout(300);
        expect([who, place, await page.locator('main img, main script, iframe, [onerror]').count()]).toEqual([
          who,
          place,
          0,
        ]);
        expect(await page.locator('a[href^="javascript:"], [style]').count(), place).toBe(0);
        expect(await page.locator('main h1').count(), place).toBe(1);
        shown += ((await page.textContent('main')) ?? '').split('onerror=alert(1)').length - 1;
      }
      // An id that was altered leads nowhere, and the stream is cut off.
      expect(complaints.filter((text) => !/net::ERR_FAILED|status of 404/.test(text))).toEqual([]);
      if (who === 'client' || who === 'admin' || who === 'operator') expect([who, shown > 0]).toEqual([who, true]);
      await close();
    }
  });

  it('judges a bundle in the browser, by the reviewer’s own parts, and runs nothing out of it', async () => {
    const samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
    const { page, complaints, goTo, close } = await site.open('client');
    for (const name of ['good', 'receipt-altered', 'html-in-text', 'not-cbor']) {
      const { bytes, heading } = samples.get(name)!;
      await page.route('**/bundle', (route) => route.fulfill({ body: Buffer.from(bytes) }));
      await goTo(`/jobs/0x${'12'.repeat(32)}/evidence`);
      await page.waitForSelector('#verdict', { timeout: 30_000 });
      expect([name, await page.textContent('#verdict')]).toEqual([name, expect.stringContaining(headings[heading])]);
      expect(await page.locator('h1').count()).toBe(1);
      expect(await faultsOf(page)).toEqual([]);
      if (name === 'html-in-text') expect(await page.textContent('main')).toContain(htmlInText);
      await page.screenshot({ path: join(screenshots, `client-evidence-${name}.png`), fullPage: true });
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it('is walled off from roles that it is not for', async () => {
    const { page, goTo, close } = await site.open('operator');
    for (const path of ['/jobs', '/keys', '/audit', '/new', '/nowhere']) {
      await goTo(path);
      expect(await page.textContent('main h1')).toBe('There is no such page for you');
    }
    await close();
  });
});

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
