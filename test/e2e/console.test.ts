/** The console as people use it, in Chromium, against a control plane: quickly. All pages: console.wide.test.ts. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pattern, type LeaseGrant } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { faultsOf, geometryOf } from '#test/page-faults';
import { runCommand } from '#test/run-command';
import { openSlowLine } from '#test/slow-stream';
import {
  acquire,
  advanceTo,
  checkpoint,
  refOf,
  register,
  submitFunded,
} from '../../apps/control-plane/test/job-fixture.js';
import { keys } from '../../apps/control-plane/test/harness.js';

describe.skipIf(!hasBrowser)('the console in Chromium', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await startConsoleSite();
  });
  afterAll(async () => site?.stop());

  const progress = (grant: LeaseGrant, step: number) =>
    site.test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, loss: 2 / (step + 1) });
  /** On eight rows: a loss of 4/step nats, in 1/65536. */
  const evaluation = (grant: LeaseGrant, step: number) =>
    site.test.send(pattern.leaseEvaluation, {
      ...{ ...refOf(grant), step },
      metrics: [
        { metric: 'accuracy', numerator: `${step + 4}`, denominator: '8' },
        { metric: 'loss', numerator: `${(8 * 4 * 65536) / step}`, denominator: '8' },
        { metric: 'sae', numerator: `${12 * step}`, denominator: '8' },
      ],
    });

  it('shows a job live: curve, segments, events, and what the escrow says', async () => {
    const { test } = site;
    const nodeId = await register(test);
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    const { page, complaints, goTo, close } = await site.open('client');
    await page.getByRole('link', { name: `job ${job.jobId}` }).click();
    await page.getByRole('heading', { name: /^Training/ }).waitFor();
    await progress(grant, 1);
    await progress(grant, 2);
    await page.getByRole('img', { name: /Loss on the training data: from 1 at step 1 to 0.6667 at step 2/ }).waitFor();
    await evaluation(grant, 1);
    await evaluation(grant, 2);
    for (const said of ['Accuracy .* from 62.5 % .* to 75 %', 'Loss .* from 4 .* to 2', 'Sae .* from 1.5 .* to 3']) {
      await page.getByRole('img', { name: new RegExp(`${said} at step 2`) }).waitFor();
    }
    await checkpoint(test, grant, job, 0);
    await page.getByText('1 of 3 segments trained and signed').waitFor();
    await page.getByText('A checkpoint is kept after step 2').waitFor();
    await progress(grant, 4);
    await page.getByRole('img', { name: /to 0.4 at step 4/ }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 800 });
    expect(await geometryOf(page)).toEqual({ width: 320, small: 0 });
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('CANCELLED_BY_CLIENT').first().waitFor();
    await goTo(`/jobs/${job.jobId}/evidence`);
    expect(await page.textContent('main')).toContain('JOB_BUNDLE_PENDING');
    // The browser writes down that the bundle is not to be had.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
    await close();
  });

  it('goes on with the story of a job that is tried again, and tells all of it to whoever comes later', async () => {
    const { test } = site;
    const nodeId = await register(test, 'again');
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    await test.send(pattern.leaseFail, { ...refOf(grant), code: 'HOST_SAYS', detail: 'no power', retry: false });
    const { page, goTo, close } = await site.open('client');
    await goTo(`/jobs/${job.jobId}`);
    await page.getByText('This job ended without a delivery').waitFor();
    await page.getByText('It ended: failed (HOST_SAYS)').waitFor();
    // Until the page has left the stream.
    await page.waitForTimeout(3000);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('It waits for a node again').waitFor();
    await acquire(test, nodeId);
    const taken = page.getByText('A node took the job');
    await taken.nth(1).waitFor();
    await page.reload();
    await taken.nth(1).waitFor();
    await close();
  });

  it('tells the whole story over a slow line, past ends that were none, and leaves the stream at the last', async () => {
    const { test } = site;
    const nodeId = await register(test, 'slow');
    const job = await submitFunded(test);
    for (const detail of ['no power', 'no power again']) {
      const grant = await acquire(test, nodeId);
      await advanceTo(test, grant, 'running');
      await test.send(pattern.leaseFail, { ...refOf(grant), code: 'HOST_SAYS', detail, retry: false });
      if (detail === 'no power') await test.as('client').post(`/v1/jobs/${job.jobId}/retry`, {}).expect(200);
    }
    const line = await openSlowLine(test.plane.httpPort, 5000);
    const { page, close } = await site.open(null);
    await page.goto(`${line.url}/console`);
    await page.fill('#key', keys.client);
    await page.keyboard.press('Enter');
    await page.waitForSelector('nav[aria-label=Pages]');
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().endsWith(`${job.jobId}/events`) && asked.push(request.url())));
    await page.goto(`${line.url}/console/jobs/${job.jobId}`);
    await page.getByText('It ended: failed (HOST_SAYS)').nth(1).waitFor({ timeout: 60_000 });
    expect(await page.getByText('The training began').count()).toBe(2);
    // A browser asks again three seconds after an end; the answer is empty, and then nobody asks any more.
    await expect.poll(() => asked.length).toBe(2);
    await page.waitForTimeout(8000);
    expect(asked.length).toBe(2);
    line.close();
    await close();
  });

  it('asks again for a stream that was refused', async () => {
    const { test } = site;
    const job = await submitFunded(test);
    const { page, goTo, close } = await site.open('client');
    let refusals = 0;
    await page.route(/\/events$/, async (route) => {
      refusals += 1;
      return refusals > 2 ? route.continue() : route.fulfill({ status: 503, body: '' });
    });
    await goTo('/jobs');
    await page.getByRole('button', { name: 'Live: pause' }).waitFor();
    expect(refusals).toBe(3);
    refusals = 0;
    await goTo(`/jobs/${job.jobId}`);
    await page.getByText('It was submitted').waitFor();
    await close();
  });

  it('gives commands that run as they stand: an example, a plan, a sealed data set with its key', async () => {
    const { page, goTo, close } = await site.open('otherClient');
    await goTo('/jobs');
    const example = (await page.getByRole('region', { name: 'run an example' }).innerText()).trim();
    expect(existsSync(join('apps/cli/examples', example.split(' ').at(-1)!))).toBe(true);
    await goTo('/new');
    const folder = mkdtempSync(join(tmpdir(), 'veritrain-console-'));
    await page.getByLabel('File or folder').fill('apps/cli/examples/table-classes/penguins.csv');
    await page.getByLabel('Column to predict').fill('species');
    await page.getByRole('textbox', { name: 'key broker' }).fill(`${folder}/data-keys/`);
    const texts = await page.locator('section[aria-labelledby=step-do] pre').allInnerTexts();
    mkdirSync(join(folder, 'data-keys'));
    for (const text of texts.slice(0, 3)) {
      const [, , group, verb, ...words] = text.replaceAll('\\\n', ' ').trim().split(/\s+/);
      const moved = words.map((one) => (/^(model|sealed)(\/|$)/.test(one) ? join(folder, one) : one));
      const { code, json } = await runCommand(group!, verb!, ...moved);
      expect([text, code, json]).toEqual([text, 0, json]);
    }
    expect(existsSync(join(folder, 'data-keys/penguins.json'))).toBe(true);
    expect(texts[3]).toContain('job submit');
    rmSync(folder, { recursive: true });
    await close();
  });

  it('moves a list without asking for it, goes through it by keys, and finds a job', async () => {
    const { test } = site;
    const { page, close } = await site.open('client');
    await page.getByRole('button', { name: 'Live: pause' }).waitFor();
    // Once the stream is open the page asks once for what it may have missed.
    await page.waitForTimeout(1000);
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().includes('/v1/jobs?') && asked.push(request.url())));
    await page.waitForTimeout(3000);
    expect(asked).toEqual([]);
    const job = await submitFunded(test);
    await page.getByRole('link', { name: `job ${job.jobId}` }).waitFor({ timeout: 5000 });
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.keyboard.press('?');
    await page.keyboard.press('/');
    await page.keyboard.type(job.jobId.slice(0, 12));
    await page.keyboard.press('Enter');
    await page.waitForURL(/search=0x/);
    await expect.poll(() => page.locator('.list tbody tr').count()).toBe(1);
    await page.getByRole('heading', { name: 'Jobs', exact: true }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Job/ }).waitFor();
    expect(page.url()).toContain(job.jobId);
    await close();
  });

  it('ends a session from another one, within five seconds', async () => {
    const [one, other] = [await site.open('reviewer'), await site.open('reviewer')];
    await one.goTo('/you');
    const rows = one.page.locator('.list tbody tr').filter({ hasNotText: 'this one' });
    await rows.first().waitFor();
    while ((await rows.count()) > 0) {
      const before = await rows.count();
      await rows.first().getByRole('button').click();
      await rows.first().getByRole('button', { name: 'End this session' }).click();
      await expect.poll(() => rows.count()).toBeLessThan(before);
    }
    await other.page.getByText('Your session has ended').waitFor({ timeout: 5000 });
    await one.close();
    await other.close();
  });

  it('signs in and out by keyboard alone, and says why not', async () => {
    const { page, close } = await site.open(null);
    await page.keyboard.type('vt_wrong_0123456789abcdef');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.textContent('main')).toContain('not known here');
    expect(await page.inputValue('#key')).toBe('');
    await page.keyboard.type(keys.operator);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Nodes' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await close();
  });

  it('shows who is revoked the door within five seconds', async () => {
    const made = await site.test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201);
    const { id, key } = made.body as { id: string; key: string };
    const { page, close } = await site.open(null);
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
    await site.test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200);
    await page.getByText('Your session has ended').waitFor({ timeout: 5000 });
    await close();
  });
});
