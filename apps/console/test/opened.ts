/** The built page in a browser, and the corpus, for the tests of one file. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { buildReviewer, openBrowser, openTab, type Tab } from './browser.js';
import { corpus, type Sample } from './corpus.js';
import { costlyCorpus } from './costly-corpus.js';

interface Opened {
  /** Of the corpus, costly ones too. */
  sample(name: string): Sample;
  tab(): Promise<Tab>;
}

/** To be called where tests are described. */
export function openedReviewer(): Opened {
  let browser: Browser;
  let file: string;
  let samples: ReadonlyMap<string, Sample>;
  beforeAll(async () => {
    samples = new Map([...(await corpus()), ...(await costlyCorpus())].map((sample) => [sample.name, sample]));
    ({ file } = buildReviewer());
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
  });
  return { sample: (name) => samples.get(name)!, tab: () => openTab(browser, file) };
}
