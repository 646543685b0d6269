/** What is wrong with a page for whoever cannot see it, or holds it in one hand. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

const axeTags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds, by rule and the first place of each; in one piece, as no page here has frames. */
export async function faultsOf(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(axeTags).setLegacyMode().analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

const pressed = 'button, .button, select, summary, input:not(.unseen)';

/** Pixels that the page needs across, and how many things to press are smaller than 24 of them. */
export async function geometryOf(page: Page): Promise<{ readonly width: number; readonly small: number }> {
  const width = (await page.evaluate('document.documentElement.scrollWidth')) as number;
  const small = await page.$$eval(pressed, (all) => {
    const sizes = all.map((one) => one.getBoundingClientRect()).filter((box) => box.width > 0);
    return sizes.filter((box) => box.width < 24 || box.height < 24).length;
  });
  return { width, small };
}
