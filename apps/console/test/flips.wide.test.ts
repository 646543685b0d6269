/**
 * Two hundred files of each kind with one bit flipped: never the untouched verdict, but in bytes that it names as not
 * checked; always a reason; never a blank page; and the page says what the command line says.
 */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { headings } from '#libs/review';
import { hasBrowser } from '#test/browser';
import { hasGroth16Tools } from '#test/groth16-tools';
import { give } from './browser.js';
import { flipsOf, presentOfTest, seenOfFlip } from './flips.js';
import { judgedHere } from './judged.js';
import { openedReviewer } from './opened.js';

/** Of each kind; `VERITRAIN_FLIPS=200` takes minutes. */
const flips = Number(process.env['VERITRAIN_FLIPS'] ?? 40);
const kinds = [
  ...['good', 'logged', 'rounds', 'proved', 'version-1', 'version-3', 'tee-and-proof', 'sampled'],
  ...(hasGroth16Tools ? ['groth16'] : []),
];

describe.skipIf(!hasBrowser)('one bit flipped', () => {
  const reviewer = openedReviewer();

  it.each(kinds)(
    'in a bundle that is %s',
    async (name) => {
      const sample = reviewer.sample(name);
      const [untouched] = await judgedHere(sample, presentOfTest);
      const { page, complaints, close } = await reviewer.tab();
      const counts = new Map<string, number>();
      for (const flip of flipsOf(sample.bytes, flips)) {
        const seen = await seenOfFlip(sample, untouched, flip);
        await give(page, { name: 'flipped.vtb', bytes: flip.bytes });
        expect([flip.place, await seenOn(page)]).toEqual([flip.place, [headings[seen.heading], seen.code]]);
        expect(seen.code, `byte ${flip.place}: no reason`).not.toBeNull();
        counts.set(seen.heading, (counts.get(seen.heading) ?? 0) + 1);
      }
      console.warn(
        `${name}, ${flips} flips: ${[...counts].map(([heading, count]) => `${count} ${heading}`).join(', ')}`,
      );
      expect(complaints).toEqual([]);
      await close();
    },
    1_800_000,
  );
});

/** Heading and gravest code, as they stand on the page. */
function seenOn(page: Page): Promise<readonly [string, string | null]> {
  return page.evaluate(() => {
    const heading = [...document.querySelector('#verdict')!.childNodes].at(-1)!.textContent!;
    const reason = document.querySelector('.reasons code, .verdict .fault dd');
    return [heading, reason?.textContent ?? null] as const;
  });
}
