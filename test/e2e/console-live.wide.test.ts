/**
 * What `npm run serve` runs, a job on it, and its page in Chromium: curve and segments move while the job trains. Pictures
 * of what client and operator see are kept in dist/screenshots, for people.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchResult } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { headings } from '#libs/review';
import { executablePath, hasBrowser, launchFlags } from '#test/browser';
import { buildConsole } from '#test/console-site';
import { startTestSystem, type TestSystem } from '#test/embedded';
import { smallManifest } from '#test/small-job';

const segmentSteps = 96;
const segments = 4;
const screenshots = 'dist/screenshots';

describe.skipIf(!hasBrowser)('the console of npm run serve', () => {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-console-live-'));
  let test: TestSystem;
  let browser: Browser;
  let jobId: string;
  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    buildConsole(folder);
    test = await startTestSystem({ VERITRAIN_CONSOLE_DIR: folder });
    browser = await chromium.launch({ executablePath, args: [...launchFlags] });
  });
  afterAll(async () => {
    await browser?.close();
    await test?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('moves the curve and the segments of a job while it trains, and then judges its evidence', async () => {
    const page = await signedIn(test.profile.controlPlane.apiKey);
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
    test.gate.holdAt(0);
    // Epochs of 48 steps: a job lets figures out once an epoch, where its spec says nothing else.
    const manifest = smallManifest({ steps: segments * segmentSteps, superblock: 16 });
    ({ jobId } = await test.submit('live', manifest, segmentSteps));
    await page.getByRole('link', { name: `job ${jobId}` }).click();
    await page.getByText(`0 of ${segments} segments trained and signed`).waitFor();
    const curve = page.getByRole('img', { name: /^Loss/ });
    const paths: (string | null)[] = [];
    // A host that is behind tells the newest figure alone: each stop brings one for certain, and a curve wants two.
    for (const done of [1, 2, 3]) {
      test.gate.holdAt(done * segmentSteps);
      await page.getByText(`${done} of ${segments} segments trained and signed`).waitFor();
      if (done === 1) continue;
      await page.getByRole('img', { name: new RegExp(`^Loss.* at step ${done * segmentSteps}$`) }).waitFor();
      expect(await page.locator('ol.boxes li.trained').count()).toBe(done);
      await page.getByRole('heading', { name: /^Job .*training/ }).waitFor();
      paths.push(await curve.locator('polyline').getAttribute('points'));
    }
    expect(new Set(paths).size).toBe(2);
    await page.screenshot({ path: join(screenshots, 'live-job.png') });
    await page.getByRole('heading', { name: /^Job .* SIMULATED/ }).waitFor();
    test.gate.open();
    await page.getByRole('link', { name: 'Judge the evidence' }).click();
    await page.waitForSelector('#verdict');
    expect(await page.textContent('#verdict')).toContain(headings.simulated);
    expect(await page.textContent('main')).not.toContain(headings.verified);
    await page.close();
  });

  it('shows its operator the node that did it, and what it was paid', async () => {
    const { profile, api, folder: own } = test;
    await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
    const keys = JSON.parse(readFileSync(join(own, 'system', 'api-keys.test.json'), 'utf8')) as ApiKey[];
    const page = await signedIn(keys.find(({ role }) => role === 'operator')!.key);
    await page.getByRole('link', { name: 'simulated-node-1' }).waitFor();
    await page.screenshot({ path: join(screenshots, 'live-nodes.png') });
    await page.getByRole('link', { name: 'simulated-node-1' }).click();
    await page.getByRole('heading', { name: /accepted, but simulated/ }).waitFor();
    await page.screenshot({ path: join(screenshots, 'live-node.png') });
    await page.getByRole('link', { name: 'Earnings' }).click();
    await page.getByRole('cell', { name: '1 ETH' }).first().waitFor();
    await page.screenshot({ path: join(screenshots, 'live-earnings.png') });
    await page.close();
  });

  async function signedIn(key: string): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1040, height: 760 } });
    await page.goto(`${test.profile.controlPlane.url}/console`);
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await page.waitForSelector('nav[aria-label=Pages]');
    return page;
  }
});

interface ApiKey {
  readonly role: string;
  readonly key: string;
}
