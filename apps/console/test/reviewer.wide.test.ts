/** The long form: axe and geometry of every file in both themes, flipped bits, 4,000 segments, the longest file. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { bundleBytesMax, headings, reasonsOf, reviewBundle } from '#libs/review';
import { hasBrowser } from '#test/browser';
import { longBundle } from '#test/long-bundle';
import { partings } from './altered.js';
import { buildReviewer, give, openBrowser, openTab, type Built } from './browser.js';
import { corpus, type Sample } from './corpus.js';
import { costlyCorpus } from './costly-corpus.js';
import { presentOfTest } from './flips.js';
import { expectLooks, looks } from './looks.js';

describe.skipIf(!hasBrowser)('every file of the corpus', () => {
  let browser: Browser;
  let built: Built;
  let samples: readonly Sample[];
  let costly: readonly Sample[];
  beforeAll(async () => {
    built = buildReviewer();
    [samples, costly] = [await corpus(), await costlyCorpus()];
    browser = await openBrowser();
  }, 900_000);
  afterAll(async () => {
    await browser?.close();
  });

  it.each(looks)(
    'has no fault of accessibility and fits, %s at %i px',
    async (...look) => expectLooks(browser, built.file, [...samples, ...costly], look),
    900_000,
  );

  it('says what `report make` writes, check for check', async () => {
    const { page, close } = await openTab(browser, built.file);
    for (const sample of [...samples, ...costly]) {
      const found = await partings(page, sample, sample.at ?? presentOfTest);
      expect([sample.name, found]).toEqual([sample.name, []]);
    }
    await close();
  }, 900_000);

  it('shows 4,000 segments alive, and refuses a file that is too long', async () => {
    const { page, close } = await openTab(browser, built.file);
    const bytes = await longBundle(4000);
    const began = performance.now();
    await give(page, { name: 'long.vtb', bytes });
    console.warn(`4,000 segments: ${((performance.now() - began) / 1000).toFixed(1)} s to the verdict`);
    expect(await page.textContent('#verdict')).toContain(headings.simulated);
    expect(await page.locator('*').count()).toBeLessThan(3000);
    await page.setInputFiles('header input[type=file]', {
      name: 'longest.vtb',
      mimeType: 'application/octet-stream',
      buffer: Buffer.alloc(bundleBytesMax + 1),
    });
    await page.waitForSelector('[role=alert]');
    expect(await page.textContent('[role=alert]')).toContain('16 MiB');
    await close();
  }, 120_000);
});

it('one flipped bit at 500 places never leaves the verdict as it was, but where the verdict says so, and gives a reason', async () => {
  const { bytes } = (await corpus())[0]!;
  const untouched = await reviewBundle({ bundle: bytes });
  expect(untouched.notChecked).toEqual(['settlement.transactions']);
  const { settlement } = untouched.bundle;
  const hash = Buffer.from(bytes).indexOf(Buffer.from(settlement.transactions[0]!.hash));
  const call = Buffer.from(bytes).indexOf(settlement.transactions[0]!.call);
  const isNamed = (place: number): boolean =>
    (place >= hash && place < hash + 32) || (place >= call && place < call + 8);
  let [unreadable, refused, same] = [0, 0, 0];
  for (let turn = 0; turn < 500; turn++) {
    const place = Math.floor((turn * bytes.length) / 500);
    const changed = bytes.slice();
    changed[place]! ^= 1 << (turn % 8);
    try {
      const verdict = await reviewBundle({ bundle: changed });
      if (verdict.tier === untouched.tier) {
        same++;
        expect([place, isNamed(place)]).toEqual([place, true]);
      } else {
        refused++;
        expect(reasonsOf(verdict.checks).length).toBeGreaterThan(0);
      }
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      unreadable++;
    }
  }
  console.warn(
    `flipped bits: ${unreadable} unreadable, ${refused} refused or open, ${same} in bytes that the verdict names`,
  );
  expect(unreadable + refused + same).toBe(500);
}, 600_000);
