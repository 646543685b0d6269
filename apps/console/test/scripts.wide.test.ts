/**
 * Script in every string of a bundle, and of what lies beside it: the page shows it letter by letter, runs none of it and
 * makes no markup of it, under its own policy and without one. Planted sinks are found by the same.
 */
import { writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '#test/browser';
import { buildReviewer, give, openBrowser, openTab, type Built } from './browser.js';
import { corpus, type Sample } from './corpus.js';
import { longScript, script, scriptedOf, scriptedTexts } from './scripts.js';
import { sinks } from './sinks.js';

/** Every kind of member that a bundle may have is in one of these. */
const kinds = [
  ...['good', 'logged', 'rounds', 'proved', 'evaluated', 'start-not-given', 'recorded-gpu', 'recorded-tdx'],
  ...['version-1', 'version-3'],
];

/** What no text of a file may become; the page has none of them of its own but its script. */
const markup =
  'img, iframe, object, embed, x-ran, main script, [onerror], [onload], [onclick], [href^="javascript:"], [style]';

/** Files whose changed text is in the fields of their bytes, which are gone through one by one. */
const shownInFields = /^good, .*(receipt: \[\]: \.3|texts of a certificate)$/;

/** Of the files, under the page's own policy: what runs or becomes markup without one is what counts. */
const apart = 8;

interface Seen {
  readonly faults: readonly string[];
  /** On how many files the page shows the script as text. */
  readonly shown: number;
  readonly refused: number;
}

interface Given {
  readonly what: string;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

const named = `${longScript}.vtb`;

describe.skipIf(!hasBrowser)('script in strings', () => {
  let browser: Browser;
  let samples: ReadonlyMap<string, Sample>;
  /** Places that a kind shares with those before it are tried once. */
  let walks: readonly { readonly name: string; readonly all: readonly Given[] }[];
  let built: Built;
  beforeAll(async () => {
    samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
    const seen = new Set<string>();
    walks = kinds
      .filter((name) => samples.has(name))
      .map((name) => ({ name, all: [...ofKind(name, seen), ...(name === 'good' ? beside() : [])] }));
    built = buildReviewer();
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
  });

  const ofKind = (name: string, seen: Set<string>): Given[] =>
    scriptedOf(samples.get(name)!.bytes, name === 'good' ? script : longScript, seen).map(({ what, bytes }) => ({
      what: `${name}, ${what}`,
      files: [{ name: named, bytes }],
    }));

  /** The good bundle with a policy, events and a file of no kind beside it. */
  function beside(): Given[] {
    const { bytes, beside: own = [] } = samples.get('own-policy')!;
    const policy = Buffer.from(own[0]!.bytes).toString();
    const events = JSON.stringify([1, 2].map((step) => ({ type: 'progress', data: { step, loss: 1 / step } })));
    return [policy, events].flatMap((json) =>
      [...scriptedTexts(json)].map(([what, text]) => ({
        what: `beside, ${what}`,
        files: [
          { name: named, bytes },
          { name: `${longScript}.json`, bytes: Buffer.from(text) },
        ],
      })),
    );
  }

  async function seenOf(file: string, all: readonly Given[]): Promise<Seen> {
    const { page, complaints, close } = await openTab(browser, file);
    const faults: string[] = [];
    let [shown, refused] = [0, 0];
    try {
      for (const { what, files } of all) {
        if ((await page.locator('section.beside').count()) > 0) await page.reload();
        await give(page, ...files);
        const found = await page.evaluate(looked, markup);
        if (found.markup !== '') faults.push(`${what}: ${found.markup}`);
        const inFields = shownInFields.test(what) ? await visited(page) : '';
        if (inFields !== '') faults.push(`${what}, in a field: ${inFields}`);
        if (found.reason === '') faults.push(`${what}: no reason`);
        if (found.text.includes('onerror=alert(')) shown++;
        if (found.isRefused) refused++;
        faults.push(...complaints.splice(0).map((one) => `${what}: ${one}`));
      }
    } catch (error) {
      faults.push(...complaints, String(error));
    }
    await close();
    return { faults, shown, refused };
  }

  // Without its policy, what stands between a text and a script is how the page shows texts.
  it.each(['without its own policy', 'under it'])(
    'runs nowhere and is markup nowhere, %s',
    async (how) => {
      const isBare = how !== 'under it';
      for (const { name, all } of walks) {
        const began = performance.now();
        const files = isBare ? all : all.filter((_, at) => at % apart === 0);
        const { faults, shown, refused } = await seenOf(isBare ? bare(built) : built.file, files);
        expect([name, faults]).toEqual([name, []]);
        const took = ((performance.now() - began) / 1000).toFixed(1);
        console.warn(`${name}, ${how}: ${files.length} files, ${shown} show it, ${refused} refused, ${took} s`);
        if (name === 'good') expect(Math.min(shown, refused)).toBeGreaterThan(files.length / 10);
      }
    },
    300_000,
  );

  it.each(sinks)('is found where it is made markup: $name', async ({ shownBy, file, from, to }) => {
    const planted = buildReviewer({}, [{ file, from, to }]);
    const files = walks.flatMap(({ all }) => all.filter(({ what }) => shownBy.test(what))).slice(0, 1);
    expect(files).toHaveLength(1);
    // Under its policy a page that breaks is waited for.
    for (const tab of shownBy === sinks[0]!.shownBy ? [planted.file, bare(planted)] : [bare(planted)]) {
      const { faults } = await seenOf(tab, files);
      expect(faults.join(), tab).toMatch(tab === planted.file ? /TrustedHTML/ : /<img /);
    }
  });
});

/** The page with its own policy taken out. @returns its path */
function bare({ file, html }: Built): string {
  const path = `${file}.bare.html`;
  const without = html.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, '');
  expect(without.length).toBeLessThan(html.length);
  writeFileSync(path, without);
  return path;
}

/** Goes through every field of every part, as a reader may. */
async function visited(page: Page): Promise<string> {
  return page.evaluate(async (selector) => {
    const found: string[] = [];
    // The page draws in a microtask.
    const drawn = async (): Promise<void> => {
      for (let turn = 0; turn < 4; turn++) await Promise.resolve();
    };
    const select = document.querySelector<HTMLSelectElement>('section.bytes select');
    for (const { value } of [...(select?.options ?? [])]) {
      select!.value = value;
      select!.dispatchEvent(new Event('change', { bubbles: true }));
      await drawn();
      for (const field of document.querySelectorAll<HTMLElement>('ul.fields li')) {
        field.click();
        await drawn();
        found.push(...[...document.querySelectorAll(selector)].map((one) => one.outerHTML.slice(0, 200)));
      }
    }
    return found.join(' ');
  }, markup);
}

/** In the page. */
function looked(selector: string) {
  const found = [...document.querySelectorAll(selector)].map((one) => one.outerHTML.slice(0, 200));
  const main = document.querySelector('main')!;
  const reason = main.querySelector('.reasons li, .fault dd')?.textContent ?? '';
  return { markup: found.join(' '), text: main.textContent, reason, isRefused: main.querySelector('.fault') !== null };
}
