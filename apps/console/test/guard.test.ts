/** A fault of the page while it shows a file: nothing of that file or the one before stays, and the next one opens. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headings } from '#libs/review';
import { hasBrowser } from '#test/browser';
import { tinyBundle } from '#test/tiny-bundle';
import type { Alteration } from './altered.vite.config.js';
import { buildReviewer, give, openBrowser, openTab } from './browser.js';

/** First lines of components, before which each fails where the test says so. */
const begins = {
  verdict: '  const { was: verdict } = judgement;\n  const heading',
  quality: '  const { evaluations } = verdict;\n  return',
  checks: '  const [onlyOpen,',
  bytes: '  const part = parts.find(',
  beside: '  const { material, unknown, policy,',
} as const;

const alterations = Object.entries(begins).map(([name, from]): Alteration => {
  const fail = `  if ((globalThis as { failing?: string }).failing === '${name}') throw new Error('planted in ${name}');\n`;
  return { file: `/console/src/reviewer/${name}.tsx`, from, to: `${fail}${from}` };
});

describe.skipIf(!hasBrowser)('a part of the reviewer that fails', () => {
  let browser: Browser;
  let file: string;
  let former: Uint8Array;
  let next: Uint8Array;
  beforeAll(async () => {
    file = buildReviewer({}, alterations).file;
    former = (await tinyBundle()).encoded;
    next = (await tinyBundle({ spec: { salt: new Uint8Array(32).fill(9) } })).encoded;
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
  });

  const setFailing = (page: Page, name: string): Promise<void> =>
    page.evaluate((one) => void Object.assign(globalThis, { failing: one }), name);
  const sectionsOf = (page: Page): Promise<string[]> =>
    page.$$eval('main > *', (all) => all.map((one) => one.getAttribute('aria-labelledby') ?? one.className));

  it('leaves nothing of any file, and the next one opens', async () => {
    const { page, complaints, close } = await openTab(browser, file);
    await give(page, { name: 'former.vtb', bytes: former });
    const whole = await sectionsOf(page);
    for (const name of Object.keys(begins)) {
      await setFailing(page, name);
      await give(page, { name: 'failing.vtb', bytes: next });
      await page.waitForSelector('main section.welcome');
      expect([name, await sectionsOf(page)]).toEqual([name, ['verdict', 'welcome']]);
      expect(await page.innerText('main')).toMatch(
        new RegExp(`failed to show the file[^]*failing\\.vtb[^]*PAGE_FAULT[^]*planted in ${name}`),
      );
      expect(await page.innerText('main')).not.toContain('former.vtb');
      await setFailing(page, '');
      await give(page, { name: 'former.vtb', bytes: former });
      expect(await page.innerText('#verdict')).toContain(headings.simulated);
      expect([name, await sectionsOf(page)]).toEqual([name, whole]);
      expect(await page.innerText('.verdict dl')).toContain('File\nformer.vtb');
    }
    expect(complaints).toEqual([]);
    await close();
  }, 300_000);

  it('is given up once it is on the page, too', async () => {
    const { page, close } = await openTab(browser, file);
    await give(page, { name: 'former.vtb', bytes: former });
    await setFailing(page, 'bytes');
    await page.getByRole('button', { name: 'show the bytes of the measurement' }).click();
    await page.waitForSelector('main section.welcome');
    expect(await sectionsOf(page)).toEqual(['verdict', 'welcome']);
    await close();
  });
});
