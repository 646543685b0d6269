/**
 * `npm start -- --high-value` at half its length: an enclave (simulated) trains and signs, every segment is proved
 * besides, the contract pays for both; and the bundle with receipts and proofs verifies in a browser too.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { buildSync, type BuildOptions } from 'esbuild';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBundle, parseBundle, toBase64, verifyBundle, type ProvedBundle } from '#attestation';
import { verifyBundledProof } from '#libs/proof';
import { runProvedDemo, type ProvedReport } from '../../apps/cli/src/demo/proved.js';
import { judgeBundle } from '../support/bundle-page.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-high-value-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const browser = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
if (!existsSync(browser)) console.warn(`SKIPPED: no browser at ${browser}; set CHROMIUM`);

describe('a job of high value', () => {
  let report: ProvedReport;
  let encoded: Uint8Array;
  let bundle: ProvedBundle;
  beforeAll(async () => {
    report = await runProvedDemo({ folder, tee: true, highValue: true, steps: 8, provers: [1] });
    encoded = new Uint8Array(readFileSync(report.bundle));
    bundle = parseBundle(encoded) as ProvedBundle;
  }, 600_000);
  const judge = (changed: ProvedBundle) => verifyBundle({ bundle: encodeBundle(changed), proofs: verifyBundledProof });

  it('is signed by the enclave, proved segment by segment, and settled', () => {
    expect(report).toMatchObject({
      ...{ assurance: 'tee+zk', reason: 'HIGH_VALUE', steps: 8, segments: 2, settled: true, provedOnChain: 2 },
      ...{ verdict: 'affirming', simulated: true },
    });
    expect(bundle.segments.every(({ signed, proof }) => signed !== null && proof !== null)).toBe(true);
    expect(bundle.seal).not.toBeNull();
  });

  it.each<[string, string, (b: ProvedBundle) => ProvedBundle]>([
    [
      'without its proofs',
      'BUNDLE_PROOFS',
      (b) => ({ ...b, segments: b.segments.map((s) => ({ ...s, proof: null })) }),
    ],
    ['without its seal', 'BUNDLE_SEAL', (b) => ({ ...b, seal: null })],
    ['without its sessions', 'BUNDLE_SESSION', (b) => ({ ...b, sessions: [] })],
  ])('is not believed %s', async (_name, code, change) => {
    const { tier, checks } = await judge(change(bundle));
    expect(tier).toBe('contraindicated');
    expect(checks.some((check) => check.status !== 'met' && check.code.startsWith(code))).toBe(true);
  });

  it('is judged alike where there is nothing but web globals', async () => {
    const { crypto, TextEncoder, TextDecoder } = globalThis;
    const context = createContext({ crypto, TextEncoder, TextDecoder });
    runInContext(browserScript(), context);
    const there = (await runInContext(`judgeBundle(${JSON.stringify(toBase64(encoded))})`, context)) as string;
    expect(there).toBe(await judgeBundle(toBase64(encoded)));
    expect(JSON.parse(there)).toMatchObject({ tier: 'warning', steps: 8 });
  });

  it.skipIf(!existsSync(browser))(
    'is judged alike in Chromium',
    async () => {
      const script = browserScript();
      const server = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end('<!doctype html>'),
      );
      await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
      const { port } = server.address() as { port: number };
      const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'];
      const instance = await chromium.launch({ executablePath: browser, args });
      try {
        const page = await instance.newPage();
        await page.goto(`http://127.0.0.1:${port}/`);
        await page.addScriptTag({ content: script });
        const there = await page.evaluate(
          (text) => (globalThis as unknown as { judgeBundle: typeof judgeBundle }).judgeBundle(text),
          toBase64(encoded),
        );
        expect(there).toBe(await judgeBundle(toBase64(encoded)));
        expect(JSON.parse(there)).toMatchObject({ tier: 'warning', steps: 8 });
      } finally {
        await instance.close();
        server.close();
      }
    },
    120_000,
  );
});

function browserScript(): string {
  const options: BuildOptions = {
    ...{ bundle: true, minify: true, format: 'iife', platform: 'browser', conditions: ['source'] },
    entryPoints: ['test/support/bundle-page.ts'],
  };
  return buildSync({ ...options, write: false }).outputFiles[0]!.text;
}
