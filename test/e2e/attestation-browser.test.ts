/**
 * The same verifier outside Node: its browser bundle judges every real sample with output identical to the byte, once
 * where only web globals exist, once in headless Chromium where one is installed (CHROMIUM names another path).
 */
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { toBase64 } from '#attestation/base';
import { browserBundle, callInBrowser, hasBrowser } from '#test/browser';
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

describe.skipIf(samples.length === 0)('the browser bundle of the verifier', () => {
  const script = browserBundle('test/support/sample-page.ts');

  it('stays below 150 kB gzipped', () => {
    const size = gzipSync(browserBundle('attestation/src/index.ts'), { level: 9 }).length;
    expect(size).toBeLessThan(150_000);
  });

  it('judges alike where there is nothing but web globals', async () => {
    const { btoa, crypto, TextEncoder, TextDecoder } = globalThis;
    const context = createContext({ btoa, crypto, TextEncoder, TextDecoder });
    runInContext(script, context);
    const there = (await runInContext(`runPortable(${JSON.stringify(portable)})`, context)) as string;
    expect(there).toBe(await runPortable(portable));
  });

  it.skipIf(!hasBrowser)('judges alike in Chromium', async () => {
    expect(await callInBrowser(script, 'runPortable', portable)).toBe(await runPortable(portable));
  });
});
