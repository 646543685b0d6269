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
import type { KeyName } from '../../apps/control-plane/test/harness.js';
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
    client: [...jobs, ['new', '/new'], ['data', '/data'], ['nodes', '/nodes'], ['review', '/review']],
    otherClient: [
      ['jobs-empty', '/jobs'],
      ['data-empty', '/data'],
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
      ['nowhere', '/nowhere'],
    ],
  };
}
