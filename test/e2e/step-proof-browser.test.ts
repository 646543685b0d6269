/**
 * The verifier of step proofs outside Node: its browser bundle judges accepted and spoiled proofs with output identical
 * to the byte, once where only web globals exist, once without WebAssembly, once in headless Chromium where one is
 * installed (CHROMIUM names another path).
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { createContext, runInContext } from 'node:vm';
import { buildSync, type BuildOptions } from 'esbuild';
import { chromium } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { smallProofs } from '../support/small-proof.js';
import { judgeProofs, portableCases, type ProofCase } from '../support/step-proof-page.js';

const browser = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
if (!existsSync(browser)) console.warn(`SKIPPED: no browser at ${browser}; set CHROMIUM`);

let cases: string;
let script: string;

beforeAll(() => {
  const [{ proof, statement }, other] = smallProofs();
  const spoiled = [100, 9_000, 20_000, proof.length - 20].map((at): ProofCase => {
    const copy = Uint8Array.from(proof);
    copy[at]! ^= 1;
    return { proof: copy, statement };
  });
  cases = portableCases([
    { proof, statement },
    { proof: other.proof, statement: other.statement },
    ...spoiled,
    { proof: proof.subarray(1), statement },
    { proof: new Uint8Array(proof.length).fill(255), statement },
    { proof, statement: { ...statement, index: 1 } },
    { proof, statement: { ...statement, profile: 'chain128' } },
    { proof, statement: { ...statement, manifest: { ...statement.manifest, gbits: 17 } } },
  ]);
  const options: BuildOptions = {
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    conditions: ['source'],
  };
  const entryPoints = ['test/support/step-proof-page.ts'];
  script = buildSync({ ...options, write: false, entryPoints }).outputFiles[0]!.text;
});

describe('the browser bundle of the step proof verifier', () => {
  it('judges in Node', () => {
    const verdicts = JSON.parse(judgeProofs(cases)) as { code?: string }[];
    expect(verdicts.map(({ code }) => code ?? 'accepted')).toEqual([
      ...['accepted', 'accepted', 'STEP_POW', 'STEP_MERKLE_W0', 'STEP_MERKLE_W0', 'STEP_FINAL_CHECK'],
      ...['STEP_POW', 'STEP_NONCANONICAL', 'MERKLE_PATH', 'STEP_EXTENSION', 'STEP_PLAN'],
    ]);
  });

  it.each([
    ['nothing but web globals', true],
    ['no WebAssembly either', false],
  ])('judges alike where there is %s', (_name, hasWasm) => {
    const { crypto, TextEncoder, TextDecoder, atob, btoa } = globalThis;
    const context = createContext({ crypto, TextEncoder, TextDecoder, atob, btoa });
    if (!hasWasm) runInContext('delete globalThis.WebAssembly', context);
    expect(runInContext('typeof WebAssembly', context)).toBe(hasWasm ? 'object' : 'undefined');
    runInContext(script, context);
    expect(runInContext(`judgeProofs(${JSON.stringify(cases)})`, context)).toBe(judgeProofs(cases));
  });

  it.skipIf(!existsSync(browser))('judges alike in Chromium', async () => {
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
        (json) => (globalThis as unknown as { judgeProofs: (text: string) => string }).judgeProofs(json),
        cases,
      );
      expect(there).toBe(judgeProofs(cases));
    } finally {
      await instance.close();
      server.close();
    }
  });
});
