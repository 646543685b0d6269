/**
 * What the console says where little is known, nothing answers, or what vouches for a job is no real machine.
 * Pictures are kept in dist/screenshots, for people.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { pattern } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { faultsOf } from '#test/page-faults';
import { Shedding } from '../../apps/control-plane/src/core/overload/shedding.js';
import { WebhookDeliverer } from '../../apps/control-plane/src/webhooks/deliverer.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  confirm,
  deliveryOf,
  providers,
  refOf,
  register,
  shownSimulated,
  submitFunded,
} from '../../apps/control-plane/test/job-fixture.js';

const screenshots = 'dist/screenshots';

describe.skipIf(!hasBrowser)('the console in Chromium', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    site = await startConsoleSite();
  }, 400_000);
  afterAll(async () => site?.stop());
  const shot = async (page: Page, name: string): Promise<void> =>
    void (await page.screenshot({ path: join(screenshots, `states-${name}.png`), fullPage: true }));

  it('says SIMULATED of a job whose node showed that, and of a list where every node says it', async () => {
    const { test } = site;
    const nodeId = await register(test);
    const simulated = await submitFunded(test);
    await test.send(pattern.leaseAttested, { ...refOf(await acquire(test, nodeId)), ...shownSimulated });
    const real = await submitFunded(test);
    await advanceTo(test, await acquire(test, nodeId), 'attested');
    const { page, goTo, close } = await site.open('client');
    await page.getByText('Every machine here').waitFor();
    expect(await page.locator('.list tbody').getByText('SIMULATED').count()).toBe(2);
    expect(await page.textContent('main')).not.toContain('an attested machine');
    expect(await cutOn1024(page)).toBe(0);
    await shot(page, 'jobs');
    await goTo(`/jobs/${simulated.jobId}`);
    await page.getByRole('heading', { name: /^Job .* SIMULATED/ }).waitFor();
    await page.getByText('SIMULATED hardware: it shows that the software works').waitFor();
    await page.getByText('accepted, but simulated').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await shot(page, 'job');
    await goTo(`/jobs/${real.jobId}`);
    await page
      .locator('.facts')
      .getByText(/accepted$/)
      .waitFor();
    expect(await page.textContent('main')).not.toMatch(/SIMULATED|an attested machine/);
    await close();
  });

  it('claims nothing about a policy that it has not read, and takes no example for what somebody said', async () => {
    const { page, goTo, close } = await site.open('client');
    await goTo('/new');
    await page.getByText('This page has not read it').waitFor();
    expect(await page.textContent('main')).not.toContain('on your list');
    const rows = page.getByLabel('Rows');
    expect([await rows.inputValue(), await rows.getAttribute('placeholder')]).toEqual(['', 'for example 10000']);
    await page.getByText('For example with 10,000 rows, 20 columns, 2 classes').waitFor();
    await rows.fill('500');
    await page.getByText('For example with 20 columns, 2 classes').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await shot(page, 'new');
    await rows.fill('');
    await page.getByText('For example with 10,000 rows').waitFor();
    await close();
  });

  it('stays signed in where the session could not be ended, and says so', async () => {
    const { page, close } = await site.open('client');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Could not sign out').waitFor();
    await page.getByRole('link', { name: 'client of acme' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await shot(page, 'signout');
    await page.context().setOffline(false);
    await page.locator('.who').getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await close();
  });

  it('tells whoever has a delivered job what to do, and names nobody as paid who is not', async () => {
    const { test } = site;
    const nodeId = await register(test, 'delivers');
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    for (const index of [0, 1, 2]) await checkpoint(test, grant, job, index);
    await test.send(pattern.leaseDeliver, { ...refOf(grant), ...(await deliveryOf(test, job, [])) });
    const { page, goTo, close } = await site.open('client');
    await goTo(`/jobs/${job.jobId}`);
    await page.getByText(`veritrain job result ${job.jobId} --out result`).waitFor();
    await page.getByText('To be paid to').waitFor();
    expect(await page.textContent('main')).not.toContain('Paid to');
    expect(await faultsOf(page)).toEqual([]);
    await shot(page, 'delivered');
    test.chain.mine({ escrowId: job.escrowId, name: 'JobEnded', data: { state: '6', toProvider: '1', toClient: '0' } });
    await confirm(test);
    await page.getByText('Paid to', { exact: true }).waitFor();
    expect(await page.getByText('What to do now').count()).toBe(0);
    await close();
  });

  it('asks an overloaded control plane again as often as that said, and then shows what it has', async () => {
    const { page, close } = await site.open('client');
    const shedding = site.test.plane.app.get(Shedding);
    const calm = (): boolean => Reflect.deleteProperty(shedding, 'level');
    onTestFinished(() => void calm());
    Object.defineProperty(shedding, 'level', { value: 1, configurable: true });
    await page.getByRole('link', { name: 'Nodes', exact: true }).click();
    await page.getByText('has too much to do just now').waitFor();
    await page.getByText('It is asked again by itself in 2 s: 1 of 5.').waitFor();
    await page.getByText('It is asked again by itself in 2 s: 2 of 5.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await shot(page, 'busy');
    calm();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await close();
  });

  it('says that figures are loading, or cannot be, and since when a list or a job is not live', async () => {
    const { test } = site;
    const job = await submitFunded(test);
    const grant = await acquire(test, await register(test, 'figures'));
    await advanceTo(test, grant, 'running');
    for (const step of [1, 2]) {
      await test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, loss: 2 / step });
      const metrics = [{ metric: 'accuracy', numerator: '8', denominator: '8' }];
      await test.send(pattern.leaseEvaluation, { ...refOf(grant), step, metrics });
    }
    const { page, goTo, close } = await site.open('client');
    let answer: 'nothing' | 'refusal' | 'all' = 'nothing';
    await page.route(/\/events$/, async (route) => {
      if (answer === 'all') return route.continue();
      if (answer === 'refusal') return route.fulfill({ status: 503, body: '' });
    });
    await goTo(`/jobs/${job.jobId}`);
    await page.getByText('Loading the figures…').waitFor();
    await shot(page, 'loading');
    answer = 'refusal';
    await goTo(`/jobs/${job.jobId}`);
    await page.getByText('The figures cannot be loaded').waitFor();
    await page.getByText(/^not live since 2026/).waitFor();
    await shot(page, 'away');
    await goTo('/jobs');
    await page.getByText(/^Not live since 2026.*; asked every 15 s/).waitFor();
    await page.getByRole('button', { name: 'Not live – pause' }).waitFor();
    await shot(page, 'list');
    answer = 'all';
    await page.getByRole('button', { name: 'Live: pause', exact: true }).waitFor();
    await goTo(`/jobs/${job.jobId}`);
    const accuracy = page.getByRole('img', { name: /^Accuracy on the validation set/ });
    await accuracy.waitFor();
    expect(await accuracy.textContent()).not.toContain('101');
    await shot(page, 'curves');
    await close();
  });

  it('says of a page whose code is not to be had that nothing answers, and shows it on the next try', async () => {
    const { page, close } = await site.open('client');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Review' }).click();
    await page.getByRole('heading', { name: 'The control plane does not answer' }).waitFor();
    expect(await page.textContent('main')).not.toContain('PAGE_FAULT');
    await shot(page, 'review');
    await page.context().setOffline(false);
    await page.locator('main').getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.locator('main h1').waitFor();
    await close();
  });

  it('names job and change of what a webhook was sent, says why it did not arrive, and counts one core', async () => {
    const { test } = site;
    const made = await test.as('client').post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook' }).expect(201);
    const { id } = made.body as { id: string };
    const small = { ...capabilities, tee: 'none', cores: 1 };
    await test.send(pattern.nodeRegister, { name: 'small', provider: providers.operator, capabilities: small });
    const job = await submitFunded(test);
    await acquire(test, await register(test, 'told'));
    await test.plane.app.get(WebhookDeliverer).deliver();
    const { page, goTo, close } = await site.open('client');
    await goTo(`/webhooks/${id}`);
    await page
      .getByText(`assigned, job ${job.jobId.slice(0, 10)}…`)
      .first()
      .waitFor();
    await page.getByText('Nothing listens at this address and port.').first().waitFor();
    expect(await cutOn1024(page)).toBe(0);
    await shot(page, 'hook');
    await goTo('/nodes');
    await page.getByText('none, 1 core, 1 GiB').waitFor();
    await close();
  });
});

/** Tables that are cut off on a laptop. */
async function cutOn1024(page: Page): Promise<number> {
  await page.setViewportSize({ width: 1024, height: 768 });
  return page.$$eval('.scroll', (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
}
