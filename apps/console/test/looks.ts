/** Files as somebody sees them who sees little, holds a telephone or looks at pictures: axe, width, targets. */
import { mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import { faultsOf, geometryOf } from '#test/page-faults';
import { give, openTab } from './browser.js';
import type { Sample } from './corpus.js';

/** Pictures for people to look at. */
const pictures = 'dist/screenshots';

type Look = readonly [colorScheme: 'light' | 'dark', width: number];

export const looks: readonly Look[] = [
  ['light', 1280],
  ['dark', 320],
];

export async function expectLooks(
  browser: Browser,
  file: string,
  samples: readonly Sample[],
  [colorScheme, width]: Look,
): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  const { page, complaints, close } = await openTab(browser, file, {
    ...{ colorScheme, viewport: { width, height: 900 } },
  });
  expect(await faultsOf(page)).toEqual([]);
  for (const { name, bytes, beside = [] } of samples) {
    await page.reload();
    await give(page, { name: `${name}.vtb`, bytes }, ...beside);
    expect([name, await faultsOf(page), await geometryOf(page)]).toEqual([name, [], { width, small: 0 }]);
    await page.screenshot({ path: `${pictures}/reviewer-${name}-${colorScheme}-${width}.png`, fullPage: true });
  }
  expect(complaints).toEqual([]);
  await close();
}
