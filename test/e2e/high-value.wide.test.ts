/**
 * `npm start -- --high-value` at half its length, in one proof of thirty-two steps: an enclave (simulated) trains and signs, every segment is proved
 * besides, the contract pays for both; and the bundle with receipts and proofs verifies in a browser too.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { toBase64 } from '#attestation/base';
import { encodeBundle, parseBundle, type EvidenceBundle } from '#attestation/records';
import { verifyBundledProof } from '#libs/proof';
import { runProvedDemo, type ProvedReport } from '../../apps/cli/src/demo/proved.js';
import { browserBundle, callInBrowser, hasBrowser } from '../support/browser.js';
import { judgeBundle } from '../support/bundle-page.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-high-value-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const script = browserBundle('test/support/bundle-page.ts');

describe('a job of high value', () => {
  let report: ProvedReport;
  let encoded: Uint8Array;
  let bundle: EvidenceBundle;
  beforeAll(async () => {
    report = await runProvedDemo({ folder, tee: true, highValue: true, steps: 32, provers: [1], memoryMiB: 1300 });
    encoded = new Uint8Array(readFileSync(report.bundle));
    bundle = parseBundle(encoded) as EvidenceBundle;
  }, 600_000);
  const judge = (changed: EvidenceBundle) =>
    verifyBundle({ bundle: encodeBundle(changed), proofs: verifyBundledProof });

  it('is signed by the enclave, proved segment by segment, and settled', () => {
    expect(report).toMatchObject({
      ...{ assurance: 'tee+zk', reason: 'HIGH_VALUE', steps: 32, segments: 1, settled: true, provedOnChain: 1 },
      unit: { steps: 32, profile: 'chain64', proofs: 1, transactions: 1 },
      ...{ verdict: 'warning', simulated: true },
    });
    expect(bundle.segments.every(({ signed, proof }) => signed !== null && proof !== null)).toBe(true);
    expect(bundle.seal).not.toBeNull();
  });

  it('is committed by the host when it has the proofs itself, and not before', () => {
    const log = readFileSync(join(folder, 'high-value', 'logs', 'host-agent.log'), 'utf8');
    const steps = [...log.matchAll(/"step":"(keep|commit|finalize)"/g)].map(([, step]) => step);
    expect(steps).toEqual(['keep', 'commit', 'finalize']);
  });

  it.each<[string, string, (b: EvidenceBundle) => EvidenceBundle]>([
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
    const { btoa, crypto, TextEncoder, TextDecoder } = globalThis;
    const context = createContext({ btoa, crypto, TextEncoder, TextDecoder });
    runInContext(script, context);
    const there = (await runInContext(`judgeBundle(${JSON.stringify(toBase64(encoded))})`, context)) as string;
    expect(there).toBe(await judgeBundle(toBase64(encoded)));
    expect(JSON.parse(there)).toMatchObject({ tier: 'warning', steps: 32 });
  });

  it.skipIf(!hasBrowser)(
    'is judged alike in Chromium',
    async () => {
      const there = await callInBrowser(script, 'judgeBundle', toBase64(encoded));
      expect(there).toBe(await judgeBundle(toBase64(encoded)));
      expect(JSON.parse(there)).toMatchObject({ tier: 'warning', steps: 32 });
    },
    120_000,
  );
});
