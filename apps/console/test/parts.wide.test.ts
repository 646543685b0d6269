/**
 * Bundles altered in every part, one by one: the page says of each what `report make` writes, check for check; never the
 * untouched verdict but where it names the part as not checked; always a reason.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differencesOf } from '#libs/review';
import { hasBrowser } from '#test/browser';
import { disagreements } from './agreement.js';
import { buildReviewer, openBrowser, openTab } from './browser.js';
import { reportByCommand, reportHere } from './command-line.js';
import { corpus, type Sample } from './corpus.js';
import { presentOfTest, seenOfFlip } from './flips.js';
import { judgedHere } from './judged.js';
import { alterationsOf } from './parts.js';

/** Every so many of them; `VERITRAIN_ALTERATIONS=1` takes an hour. */
const apart = Number(process.env['VERITRAIN_ALTERATIONS'] ?? 12);
const kinds = ['good', 'logged', 'rounds', 'proved', 'start-given', 'version-1', 'version-3'];

/** A log may be left out, as of a bundle that was never logged, and its watch key kept back: attestation/LOG.md §4. */
const mayBeMissing: readonly string[] = ['log: left out', 'log.watchKey: null'];

describe.skipIf(!hasBrowser)('a bundle with one part altered', () => {
  let browser: Browser;
  let file: string;
  let samples: ReadonlyMap<string, Sample>;
  beforeAll(async () => {
    samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
    ({ file } = buildReviewer());
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
  });

  async function expectAgreed(page: Page, sample: Sample, what: string): Promise<void> {
    expect([what, await disagreements(page, sample)]).toEqual([what, []]);
    if (sample.heading === 'not-a-bundle') return;
    const written = await reportByCommand(sample, presentOfTest);
    expect([what, differencesOf(written, await reportHere(sample, presentOfTest, written))]).toEqual([what, []]);
  }

  it.each(kinds)(
    'that was %s',
    async (name) => {
      const sample = samples.get(name)!;
      const [untouched] = await judgedHere(sample, presentOfTest);
      const { page, complaints, close } = await openTab(browser, file);
      const counts = new Map<string, number>();
      const all = alterationsOf(sample.bytes).filter(
        ({ what }, at) => at % apart === 0 && !mayBeMissing.includes(what),
      );
      for (const { what, bytes } of all) {
        const altered = { name: 'altered', bytes, ...(sample.beside && { beside: sample.beside }) };
        const { heading, code } = await seenOfFlip(sample, untouched, { bytes, place: 0 }).catch((error: unknown) => {
          throw new Error(what, { cause: error });
        });
        expect(code, `${what}: no reason`).not.toBeNull();
        await expectAgreed(page, { ...altered, heading, ...(code !== null && { code }) }, what);
        counts.set(heading, (counts.get(heading) ?? 0) + 1);
      }
      console.warn(`${name}, ${all.length} parts: ${[...counts].map(([one, count]) => `${count} ${one}`).join(', ')}`);
      expect(complaints).toEqual([]);
      await close();
    },
    3_600_000,
  );
});
