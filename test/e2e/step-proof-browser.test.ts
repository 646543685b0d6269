/**
 * The verifier of step proofs outside Node: its browser bundle judges accepted and spoiled proofs with output identical
 * to the byte, once where only web globals exist, once without WebAssembly, once in headless Chromium where one is
 * installed (CHROMIUM names another path).
 */
import { createContext, runInContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { browserBundle, callInBrowser, hasBrowser } from '../support/browser.js';
import { smallProofs } from '../support/small-proof.js';
import { judgeProofs, portableCases, type ProofCase } from '../support/step-proof-page.js';

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
  script = browserBundle('test/support/step-proof-page.ts');
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

  it.skipIf(!hasBrowser)('judges alike in Chromium', async () => {
    expect(await callInBrowser(script, 'judgeProofs', cases)).toBe(judgeProofs(cases));
  });
});
