/** A control plane that serves the console as it is in these sources, and a browser that people use it with. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { keys, startTestPlane, type KeyName, type TestPlane } from '../../apps/control-plane/test/harness.js';
import type { Config } from '../../apps/control-plane/src/core/config/config.js';
import { executablePath, launchFlags } from './browser.js';

export interface ConsoleSite {
  readonly test: TestPlane;
  readonly url: string;
  /** Signs in by the form, as a person does. */
  open(who: KeyName | null, options?: BrowserContextOptions): Promise<Visit>;
  stop(): Promise<void>;
}

interface Visit {
  readonly page: Page;
  /** Requests to elsewhere, messages of the console, errors of the page. */
  readonly complaints: string[];
  goTo(path: string): Promise<void>;
  close(): Promise<void>;
}

export async function startConsoleSite(changes: Partial<Config> = {}): Promise<ConsoleSite> {
  const consoleDirectory = mkdtempSync(join(tmpdir(), 'veritrain-console-site-'));
  buildConsole(consoleDirectory);
  const test = await startTestPlane({ consoleDirectory, ...changes });
  const browser = await chromium.launch({ executablePath, args: [...launchFlags] });
  const url = `http://127.0.0.1:${test.plane.httpPort}`;
  return {
    test,
    url,
    open: (who, options) => open(browser, url, test, who, options),
    stop: async () => {
      await browser.close();
      await test.stop();
      rmSync(consoleDirectory, { recursive: true, force: true });
    },
  };
}

/** Reviewer and console as they are in these sources, into a folder that a control plane serves. */
export function buildConsole(outDir: string): void {
  build('vite.config.ts', outDir);
  build('vite.console.config.ts', join(outDir, 'served'));
}

function build(config: string, outDir: string): void {
  const args = ['node_modules/vite/bin/vite.js', 'build', '--config', `apps/console/${config}`, '--outDir', outDir];
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { ...process.env, NODE_ENV: 'production' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
}

async function open(
  browser: Browser,
  url: string,
  { clock }: TestPlane,
  who: KeyName | null,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ timezoneId: 'Asia/Kolkata', ...options });
  const page = await context.newPage();
  await page.clock.setFixedTime(clock.now());
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(`${url}/`)) complaints.push(request.url());
  });
  await page.goto(`${url}/console`);
  await page.waitForSelector('#key');
  // Who is not signed in is told so, and the browser writes it down.
  complaints.splice(0);
  if (who !== null) {
    await page.fill('#key', keys[who]);
    await page.keyboard.press('Enter');
    await page.waitForSelector('nav[aria-label=Pages]');
  }
  return {
    page,
    complaints,
    goTo: async (path) => {
      await page.goto(`${url}/console${path}`);
      await page.waitForSelector('main h1');
      await page.waitForSelector('.waiting', { state: 'detached' });
    },
    close: () => context.close(),
  };
}
