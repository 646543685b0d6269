/** Every planted fault is found by what the suites ask of the page; the page without one passes the same. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '#test/browser';
import { disagreements } from './agreement.js';
import { buildReviewer, openBrowser, openTab } from './browser.js';
import { corpus, type Sample } from './corpus.js';
import { plants } from './plants.js';

describe.skipIf(!hasBrowser)('a planted fault', () => {
  let browser: Browser;
  let samples: ReadonlyMap<string, Sample>;
  beforeAll(async () => {
    samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
  });

  /** What is found, in words; a page that stays blank or complains is found too. */
  async function foundIn(file: string, sample: Sample): Promise<readonly string[]> {
    const { page, complaints, close } = await openTab(browser, file);
    page.setDefaultTimeout(10_000);
    try {
      return [...(await disagreements(page, sample)), ...complaints];
    } catch (error) {
      return [...complaints, String(error)];
    } finally {
      await close();
    }
  }

  it.each(plants)(
    '$name',
    async ({ shownBy, file, from, to }) => {
      const { file: built } = buildReviewer({}, [{ file, from, to }]);
      const found = await foundIn(built, samples.get(shownBy)!);
      expect(found.length, found.join('; ')).toBeGreaterThan(0);
    },
    120_000,
  );

  it('is none where nothing was planted', async () => {
    const { file } = buildReviewer({}, []);
    for (const name of new Set(plants.map(({ shownBy }) => shownBy))) {
      expect([name, await foundIn(file, samples.get(name)!)]).toEqual([name, []]);
    }
  }, 300_000);
});
