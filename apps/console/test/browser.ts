/** The built page in headless Chromium, with the network off: anything it asks for or complains about fails the test. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { executablePath, launchFlags } from '#test/browser';
import type { Alteration } from './altered.vite.config.js';

export interface Built {
  readonly file: string;
  readonly html: string;
  readonly sha256: string;
}

/** From the sources of this folder unless another one is named, which may have another umask. */
interface Elsewhere {
  readonly cwd: string;
  readonly umask: string;
}

/** @param env beside that of the test @throws Error where the build fails */
export function buildReviewer(
  env: Readonly<Record<string, string>> = {},
  alterations?: readonly Alteration[],
  { cwd, umask }: Elsewhere = { cwd: process.cwd(), umask: '022' },
): Built {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-console-'));
  const config = alterations === undefined ? 'vite.config.ts' : 'test/altered.vite.config.ts';
  const args = ['build', '--config', `apps/console/${config}`, '--outDir', join(folder, 'out')];
  const list = join(folder, 'alterations.json');
  writeFileSync(list, JSON.stringify(alterations ?? []));
  const begin = ['-c', 'umask "$1"; shift; exec "$@"', 'sh', umask];
  const { status, stderr } = spawnSync('sh', [...begin, process.execPath, 'node_modules/vite/bin/vite.js', ...args], {
    env: { ...process.env, NODE_ENV: 'production', VERITRAIN_TEST_ALTER: list, ...env },
    cwd,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const file = join(folder, 'out', 'reviewer.html');
  const sha256 = readFileSync(`${file}.sha256`, 'utf8').slice(0, 64);
  return { file, html: readFileSync(file, 'utf8'), sha256 };
}

export const openBrowser = (): Promise<Browser> => chromium.launch({ executablePath, args: [...launchFlags] });

export interface Tab {
  readonly page: Page;
  /** Requests beyond the file itself, messages of the console, dialogs, errors of the page. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export async function openTab(browser: Browser, file: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ offline: true, timezoneId: 'Asia/Kolkata', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== `file://${file}` && !request.url().startsWith('blob:')) complaints.push(request.url());
  });
  await page.goto(`file://${file}`);
  return { page, complaints, close: () => context.close() };
}

interface Dropped {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Gives files to the page and waits for its judgement. */
export async function give(page: Page, ...files: readonly Dropped[]): Promise<void> {
  const judged = (): number => Number(document.querySelector('main')!.dataset['judged']);
  await page.waitForFunction(() => document.querySelector('main')?.dataset['judged'] !== '0');
  const before = await page.evaluate(judged);
  await page.setInputFiles(
    'header input[type=file]',
    files.map(({ name, bytes }) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) })),
  );
  await page.waitForFunction((last) => Number(document.querySelector('main')!.dataset['judged']) > last, before, {
    timeout: 30_000,
  });
  await page.waitForSelector('#verdict', { timeout: 5_000 });
}

export async function saved(page: Page, button: string): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText(button).first().click()]);
  return readFileSync(await download.path());
}
