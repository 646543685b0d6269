/** A page of this project outside Node: bundled as for a site, run in headless Chromium (CHROMIUM names another path). */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { chromium } from 'playwright-core';

export const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`SKIPPED: no browser at ${executablePath}; set CHROMIUM`);

const quietly = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];

export const launchFlags: readonly string[] = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quietly];

/** @param entry path below the root of the repository @returns one script, minified */
export function browserBundle(entry: string): string {
  const built = buildSync({
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    conditions: ['source'],
    write: false,
    entryPoints: [entry],
  });
  return built.outputFiles[0]!.text;
}

/** Of a script with all that these doors export, minified. */
export function gzippedBytes(...doors: readonly string[]): number {
  const contents = doors.map((door) => `export * from '${door}';`).join('\n');
  const built = buildSync({
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['source'],
    write: false,
    stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
  });
  return gzipSync(built.outputFiles[0]!.contents, { level: 9 }).length;
}

/** Calls a global function of the script in a page that a server gave. @returns what it returns */
export async function callInBrowser(script: string, name: string, argument: string): Promise<string> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as { port: number };
  try {
    const browser = await chromium.launch({ executablePath, args: [...launchFlags] });
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.addScriptTag({ content: script });
      const call = ([of, text]: string[]) => (globalThis as unknown as Record<string, Called>)[of!]!(text!);
      return await page.evaluate(call, [name, argument]);
    } finally {
      await browser.close();
    }
  } finally {
    server.close();
  }
}

type Called = (argument: string) => string | Promise<string>;
