/**
 * Whether the page shows of a file what the verifier says: its heading, every check, its banner, the saved report to the
 * byte; and nothing out of the file as markup. What the suites ask of the page, and of planted pages.
 */
import type { Page } from 'playwright-core';
import { encodeReport, headingOf, headings, makeReport, parseReport, type Check } from '#libs/review';
import { give, saved } from './browser.js';
import type { Sample } from './corpus.js';
import { judgedHere } from './judged.js';

/** @returns where page and verifier part; nothing where they agree */
export async function disagreements(page: Page, sample: Sample): Promise<string[]> {
  const { name, bytes, beside = [], at, code, heading, shows } = sample;
  // What lies beside one file would lie beside the next; what is no bundle would lie beside the one before.
  if (heading === 'not-a-bundle' || (await page.locator('section.beside').count()) > 0) await page.reload();
  await give(page, { name: `${name}.vtb`, bytes }, ...beside);
  const found: string[] = [];
  const demand = (holds: boolean, what: string): void => void (holds || found.push(what));
  demand((await page.evaluate(() => document.activeElement?.id)) === 'verdict', 'focus is not on the verdict');
  if (at !== undefined) await judgeAt(page, at);
  const text = (await page.textContent('main'))!;
  const title = (await page.textContent('#verdict'))!;
  demand(title.includes(headings[heading]), `heading ${title}`);
  demand(shows === undefined || text.includes(shows), `does not show ${shows}`);
  demand((await page.locator('main img, main script, main iframe').count()) === 0, 'markup out of the file');
  if (heading === 'not-a-bundle') {
    demand((await page.textContent('.fault'))!.includes(code!), `no code ${code}`);
    return found;
  }
  const report = parseReport(new Uint8Array(await saved(page, 'Save report.json')));
  const [was, later] = await judgedHere(sample, report.judgements[1]!.at!);
  const judged = [
    { at: null, verdict: was },
    { at: report.judgements[1]!.at, verdict: later },
  ] as const;
  const own = makeReport(bytes, judged, report.reviewer);
  demand(Buffer.from(encodeReport(own)).equals(encodeReport(report)), 'report.json differs');
  demand(title.includes(headings[headingOf(was)]), `heading ${title}, not ${headingOf(was)}`);
  demand((await page.locator('.banner').count()) === (was.simulated ? 1 : 0), 'banner');
  const rows = await page.$$eval('.group li.row', (all) =>
    all.map((row) => `${row.querySelector('.rule code')?.textContent} ${row.className.replace('row ', '')}`),
  );
  for (const one of tally(was.checks)) demand(rows.includes(one), `no row for ${one}`);
  demand(rows.length >= was.checks.length, `${rows.length} rows of ${was.checks.length} checks`);
  await greener(page, was.checks, demand);
  return found;
}

const tally = (checks: readonly Check[]): readonly string[] => checks.map(({ code, status }) => `${code} ${status}`);

/** A link is shown as holding only where each of its checks is met. */
async function greener(page: Page, checks: readonly Check[], demand: (holds: boolean, what: string) => void) {
  const green = await page.$$eval('ol.chain li.holds .name', (all) => all.map(({ textContent }) => textContent));
  const groups = await page.$$eval('details.group', (all) =>
    all.map((one) => ({
      name: one.querySelector('summary .name')?.textContent ?? '',
      open: [...one.querySelectorAll('li.row')].filter((row) => !row.classList.contains('met')).length,
    })),
  );
  for (const { name, open } of groups)
    demand(open === 0 || !green.includes(name), `${name} is green with ${open} open`);
  const isOpen = checks.some(({ status }) => status !== 'met');
  demand(!isOpen || groups.some(({ open }) => open > 0), 'no group has what is open');
}

/** To the minute, as the field takes it. */
async function judgeAt(page: Page, at: number): Promise<void> {
  const judged = (): number => Number(document.querySelector('main')!.dataset['judged']);
  const [field, wanted] = ['input[type=datetime-local]', new Date(1000 * at).toISOString().slice(0, 16)];
  if ((await page.inputValue(field)) === wanted) return;
  const before = await page.evaluate(judged);
  await page.fill(field, wanted);
  await page.waitForFunction((last) => Number(document.querySelector('main')!.dataset['judged']) > last, before);
}
