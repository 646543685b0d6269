/**
 * The page in Chromium: it says of the corpus what the command line says, check for check and to the byte; asks no
 * network; holds under axe, a keyboard, a narrow window and paper. Skipped loudly where there is no browser.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodePolicy } from '#attestation';
import { documentFormats, headings, judgedBy, openReport, reviewBundle } from '#libs/review';
import { hasBrowser } from '#test/browser';
import { faultsOf, geometryOf } from '#test/page-faults';
import { codeLines, revokedLine } from '../src/reviewer/machine.js';
import { saidBy } from '../src/reviewer/text.js';
import { disagreements } from './agreement.js';
import { buildReviewer, give, openBrowser, openTab, saved, type Built, type Tab } from './browser.js';
import { documentByCommand } from './command-line.js';
import { corpus, htmlInText, type Sample } from './corpus.js';
import { judgedHere } from './judged.js';

/** Much like another file: the page is held against these in the long form. */
const inTheLongForm: ReadonlySet<string> = new Set([
  ...['log-path-forged', 'log-of-another-job', 'not-revoked', 'own-policy', 'segment-removed', 'appraisal-prolonged'],
  ...[
    'turned-text',
    'version-2',
    'truncated',
    'not-cbor',
    'evaluated',
    'recorded-gpu',
    'endless',
    'not-revoked-in-export',
    'start-given',
  ],
]);

describe.skipIf(!hasBrowser)('the reviewer in Chromium', () => {
  let browser: Browser;
  let built: Built;
  let samples: ReadonlyMap<string, Sample>;
  let tab: Tab;
  beforeAll(async () => {
    built = buildReviewer();
    samples = new Map((await corpus()).map((sample) => [sample.name, sample]));
    browser = await openBrowser();
    tab = await openTab(browser, built.file);
  });
  afterAll(async () => {
    await browser?.close();
  });
  const sample = (name: string): Sample => samples.get(name)!;
  const statesOn = (page: Page): Promise<string[]> =>
    page.$$eval('ol.chain li', (links) => links.map(({ className }) => className));

  it('says of every file what the command line says, to the byte', async () => {
    const { page, complaints } = tab;
    for (const one of [...samples.values()].filter(({ name }) => !inTheLongForm.has(name))) {
      expect([one.name, await disagreements(page, one)]).toEqual([one.name, []]);
    }
    expect(complaints).toEqual([]);
  }, 300_000);

  it('saves the documents that the command line makes, and none of what shows nothing', async () => {
    const { page } = tab;
    const { bytes } = sample('good');
    await give(page, { name: 'x.vtb', bytes });
    for (const format of ['cyclonedx', 'in-toto', 'vsa', 'annex-iv', 'training-data'] as const) {
      const shown = await saved(page, documentFormats[format].title);
      expect([format, undated(shown)]).toEqual([format, undated(await documentByCommand(bytes, format))]);
    }
    await give(page, { name: 'x.vtb', bytes: sample('seal-altered').bytes });
    await page.getByRole('button', { name: documentFormats.cyclonedx.title }).click();
    expect(await page.textContent('[role=alert]')).toContain('REPORT_VERDICT');
  });

  it('shows the chain as it is, and text of the file letter by letter', async () => {
    const { page } = tab;
    await give(page, { name: 'x.vtb', bytes: sample('receipt-altered').bytes });
    expect(await statesOn(page)).toEqual([
      ...['remark', 'remark', 'remark', 'remark', 'holds', 'broken', 'unsupported', 'absent', 'absent'],
    ]);
    await give(
      page,
      { name: 'x.vtb', bytes: sample('html-in-text').bytes },
      { name: `${htmlInText}\u202e.txt`, bytes: Uint8Array.of(7) },
    );
    expect(await page.textContent('.beside')).toContain(`${htmlInText}⟨U+202E⟩.txt: not recognised`);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.textContent('main')).toContain(htmlInText);
  });

  it('keeps the bundle that is open beside files that it cannot use, and names each', async () => {
    const { page } = tab;
    const pins = new Uint8Array(readFileSync('apps/key-broker/policies/production-cpu.json'));
    await give(page, { name: 'mine.vtb', bytes: sample('good').bytes });
    await give(page, { name: 'pins.json', bytes: pins }, { name: 'model.onnx', bytes: Uint8Array.of(8, 8, 0x12) });
    expect(await page.textContent('#verdict')).toContain(headings[sample('good').heading]);
    expect(await page.innerText('.beside')).toMatch(/pins\.json: a policy that nobody may judge by.*POLICY_NOT_PINNED/);
    expect(await page.innerText('.beside')).toMatch(/model\.onnx: not judged here.*report make --model/);
    expect(await page.innerText('.verdict dl')).toContain('File\nmine.vtb');
    const [one, two] = ['good', 'seal-altered'].map((name) => ({ name: `${name}.vtb`, bytes: sample(name).bytes }));
    await give(page, one!, two!);
    expect(await page.innerText('.verdict dl')).toContain('File\ngood.vtb');
    expect(await page.innerText('main')).toContain('Opened in place of mine.vtb');
    expect(await page.innerText('.beside')).toContain('seal-altered.vtb: another bundle, not judged');
    await page.reload();
  });

  it('answers in sight what a reader asks first: which code ran, whether it is revoked, which bytes, who pays whom', async () => {
    const { page } = tab;
    const { bytes } = sample('good');
    await give(page, { name: 'x.vtb', bytes });
    const { sessions } = await reviewBundle({ bundle: bytes });
    const { measurement } = sessions[0]!.instance!;
    const facts = page.locator('.verdict dl');
    expect(await facts.innerText()).toContain(`Code that ran\n${measurement.slice(0, 12)}…`);
    expect(await facts.innerText()).toMatch(/Is the chip revoked\?\nnot known.*, as of \d{4}-\d{2}-\d{2}/);
    await page.getByRole('button', { name: 'show the bytes of the measurement' }).click();
    expect(await page.innerText('.spoken')).toBe('MEASUREMENT, bytes 144 to 191');
    expect(await page.textContent('.value')).toContain(measurement);
    expect(await page.innerText('section[aria-labelledby=payment]')).toMatch(/Client\n0x[^]*Provider\n0x[^]*Price\n/);
    const { bytes: revoked, beside = [], at } = sample('revoked');
    expect(revokedLine((await judgedHere({ bytes: revoked, beside }, at!))[1], at!)[0]![1]).toMatch(/^yes, as of/);
    expect(codeLines(await reviewBundle({ bundle: sample('measurement-altered').bytes }))).not.toContainEqual([
      ...['Code that ran', expect.anything()],
    ]);
    expect(revokedLine({ checks: [] }, 0)).toEqual([]);
  });

  it('says which policy judged, whose it is, and which checks have nothing to be about', async () => {
    const { page } = tab;
    const { bytes } = sample('good');
    const verdict = await reviewBundle({ bundle: bytes });
    await give(page, { name: 'x.vtb', bytes });
    expect(await page.innerText('.how')).toContain('judged by the bundle’s own policy');
    const own = { ...decodePolicy(verdict.bundle.policy), id: 'mine' };
    await give(page, { name: 'mine.json', bytes: Buffer.from(JSON.stringify(own)) });
    expect(await page.innerText('.how')).toMatch(/judged by your policy, mine, no policy of this release/);
    expect(await page.innerText('.verdict dl')).not.toContain(judgedBy(verdict).policyOfJob.slice(0, 12));
    const row = page.locator('li.row', { has: page.locator('code', { hasText: 'BUNDLE_ROUNDS' }) });
    expect((await row.allTextContents())[0]).toContain('does not apply');
    expect(await page.textContent('.tally')).toMatch(/· do not apply/);
    await page.reload();
  });

  it('is left alone by script, markup and network that somebody tries', async () => {
    const { page, close } = await openTab(browser, built.file);
    const attempts = [
      () => fetch('https://example.org'),
      () => void (document.body.innerHTML = '<b>x</b>'),
      () => document.body.setAttribute('onclick', 'document.title = "run"'),
      () => document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>'),
    ];
    for (const attempt of attempts) await expect(page.evaluate(attempt)).rejects.toThrow();
    await close();
  });

  it('has no fault of accessibility', async () => {
    const { page } = tab;
    await give(page, { name: 'x.vtb', bytes: sample('receipt-altered').bytes });
    expect(await faultsOf(page)).toEqual([]);
  });

  it('fits a window of 320 pixels, with targets large enough', async () => {
    const { page, close } = await openTab(browser, built.file, { viewport: { width: 320, height: 800 } });
    await give(page, { name: 'x.vtb', bytes: sample('good').bytes });
    expect(await geometryOf(page)).toEqual({ width: 320, small: 0 });
    await close();
  });

  it('has the focus on a verdict as soon as it says that it judged', async () => {
    const { page, close } = await openTab(browser, built.file);
    await page.evaluate(() => {
      const main = document.querySelector<HTMLElement>('main')!;
      const note = (): void => {
        main.dataset['focusWhenJudged'] = document.activeElement?.id ?? '';
      };
      new MutationObserver(note).observe(main, { attributeFilter: ['data-judged'] });
    });
    for (const name of ['good', 'not-cbor', 'truncated', 'good']) {
      await give(page, { name: 'x.vtb', bytes: sample(name).bytes });
      expect([name, await page.getAttribute('main', 'data-focus-when-judged')]).toEqual([name, 'verdict']);
    }
    await close();
  });

  it('is walked by the keyboard alone', async () => {
    const { page } = tab;
    await give(page, { name: 'x.vtb', bytes: sample('good').bytes });
    const focused = (): Promise<string> =>
      page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
      );
    const until = async (text: string): Promise<void> => {
      for (let presses = 0; presses < 120; presses++) {
        if ((await focused()).includes(text)) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`no way by keyboard to ${text}`);
    };
    await until('Seal, holds');
    await page.keyboard.press('Enter');
    expect(await page.locator('#checks-seal').getAttribute('open')).not.toBeNull();
    expect(await focused()).toContain('Seal');
    await page.focus('[role=listbox]');
    await page.keyboard.press('Home');
    for (let presses = 0; presses < 60; presses++) {
      if ((await page.textContent('.spoken'))!.startsWith('MEASUREMENT')) break;
      await page.keyboard.press('ArrowDown');
    }
    expect(await page.textContent('.spoken')).toBe('MEASUREMENT, bytes 144 to 191');
    const marked = (await page.locator('mark').allTextContents()).join(' ').split(' ');
    expect(marked.length).toBe(48);
  });

  it('signs a report that it and the command line judge anew', async () => {
    const { page, complaints } = tab;
    const { bytes } = sample('good');
    await give(page, { name: 'x.vtb', bytes });
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.setInputFiles('.reports input', { name: 'key.pem', mimeType: 'text/plain', buffer: Buffer.from(pem) }),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const vtr = new Uint8Array(Buffer.concat(chunks));
    expect((await openReport(vtr)).report.judgements.length).toBe(2);
    await give(page, { name: 'r.vtr', bytes: vtr });
    expect(await page.textContent('#given')).toContain('says the same, check for check');
    await give(page, { name: 'other.vtb', bytes: sample('seal-altered').bytes });
    expect(await page.textContent('#given')).toContain('does not say');
    expect(complaints).toEqual([]);
  });

  it('prints verdict and digests as text, everything open and nothing to press', async () => {
    const { page, close } = await openTab(browser, built.file);
    await give(page, { name: 'x.vtb', bytes: sample('good').bytes });
    await page.emulateMedia({ media: 'print' });
    const { jobId } = await reviewBundle({ bundle: sample('good').bytes });
    expect(await page.locator('.digest .whole').allInnerTexts()).toContain(jobId);
    expect(
      await page
        .locator('button:visible, .button:visible, input:visible')
        .evaluateAll((all) => all.filter((one) => one.closest('ol.chain') === null).length),
    ).toBe(0);
    const rows = page.locator('#checks ~ details.group li.row');
    const all = await rows.count();
    await page.emulateMedia({ media: 'screen' });
    await page.check('.tick input');
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    expect([await rows.count(), await page.locator('#checks ~ details.group li.row:visible').count()]).toEqual([
      all,
      all,
    ]);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    const open = (event: string): Promise<number> =>
      page.evaluate((type) => {
        dispatchEvent(new Event(type));
        return document.querySelectorAll('details:not([open])').length;
      }, event);
    const closed = await page.locator('details:not([open])').count();
    expect([closed > 0, await open('beforeprint'), await open('afterprint')]).toEqual([true, 0, closed]);
    const frozen = (await saved(await reopened(page), 'Save this page')).toString();
    expect(frozen).toContain(jobId);
    expect(frozen).not.toContain('<script');
    expect(frozen).toContain("default-src 'none'");
    await close();
  });
});

it('says the date beside the seconds of a check that is about a time, and beside no other number', () => {
  const got = '1771996400 in CN=1771996400x';
  expect(saidBy({ code: 'X509_PATH_EXPIRED' }, got)).toBe('1771996400 (2026-02-25 05:13:20 UTC) in CN=1771996400x');
  expect(saidBy({ code: 'BUNDLE_TERMS' }, got)).toBe(got);
});

async function reopened(page: Page): Promise<Page> {
  await page.emulateMedia({ media: 'screen' });
  return page;
}

/** When a verification was made is the one thing that is not of the bundle. */
const undated = (document: Uint8Array): string =>
  Buffer.from(document)
    .toString()
    .replace(/("(timeVerified|timestamp)": )"[^"]+"/, '$1""');
