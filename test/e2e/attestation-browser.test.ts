/**
 * The same verifier outside Node: its browser bundle judges every real sample with output identical to the byte, once
 * where only web globals exist, once in headless Chromium where one is installed (CHROMIUM names another path).
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { buildSync, type BuildOptions } from 'esbuild';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { toBase64 } from '#attestation';
import { runPortable } from '../support/sample-page.js';
import { loadSamples } from '../support/samples.js';

const samples = loadSamples();
const portable = JSON.stringify(
  samples.map(({ id, files, anchors, at }) => ({
    id,
    files: Object.fromEntries([...files].map(([role, bytes]) => [role, toBase64(bytes)])),
    anchors,
    at,
  })),
);
const browser = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
if (!existsSync(browser)) console.warn(`SKIPPED: no browser at ${browser}; set CHROMIUM`);

function bundle(entry: string): string {
  const options: BuildOptions = {
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    conditions: ['source'],
  };
  return buildSync({ ...options, write: false, entryPoints: [entry] }).outputFiles[0]!.text;
}

describe.skipIf(samples.length === 0)('the browser bundle of the verifier', () => {
  const script = bundle('test/support/sample-page.ts');

  it('stays below 150 kB gzipped', () => {
    const size = gzipSync(bundle('attestation/src/index.ts'), { level: 9 }).length;
    expect(size).toBeLessThan(150_000);
  });

  it('judges alike where there is nothing but web globals', async () => {
    const { crypto, TextEncoder, TextDecoder } = globalThis;
    const context = createContext({ crypto, TextEncoder, TextDecoder });
    runInContext(script, context);
    const there = (await runInContext(`runPortable(${JSON.stringify(portable)})`, context)) as string;
    expect(there).toBe(await runPortable(portable));
  });

  it.skipIf(!existsSync(browser))('judges alike in Chromium', async () => {
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html>'),
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const { port } = server.address() as { port: number };
    const instance = await chromium.launch({
      executablePath: browser,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ],
    });
    try {
      const page = await instance.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.addScriptTag({ content: script });
      const there = await page.evaluate(
        (json) => (globalThis as unknown as { runPortable: (text: string) => Promise<string> }).runPortable(json),
        portable,
      );
      expect(there).toBe(await runPortable(portable));
    } finally {
      await instance.close();
      server.close();
    }
  });
});
