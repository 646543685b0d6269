import { X509Certificate, verify as nodeVerify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toHex } from '../base/bytes.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { parseReport } from './spdm.js';
import { verifyNvidia, type NvidiaEvidence } from './verify.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu`;
const present = existsSync(folder);
if (!present) console.warn(`SKIPPED: no samples at ${folder}`);

const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
const bytes = (file: string): Uint8Array => new Uint8Array(readFileSync(`${folder}/${file}`));
const chainOf = (id: string): Uint8Array[] =>
  parsePemCertificates(readFileSync(`${folder}/${id}/cert-chain.pem`, 'utf8')).map((certificate) => certificate.raw);
const evidenceOf = (id: string): NvidiaEvidence => ({
  report: bytes(`${id}/report.bin`),
  certificateChain: chainOf(id),
  rims: [],
  ocspAnswers: [],
  at,
});
const flip = (input: Uint8Array, offset: number, bit: number): Uint8Array => {
  const out = input.slice();
  out[offset]! ^= 1 << bit;
  return out;
};
const expectForged = async (evidence: NvidiaEvidence, what: string): Promise<readonly string[]> => {
  const result = await verifyNvidia(evidence);
  expect(result.authenticity, what).toBe('forged');
  expect(result.claims, what).toBeUndefined();
  return result.checks.filter((check) => check.status === 'forged').map((check) => check.code);
};

describe.skipIf(!present)('generated negatives of GPU reports and chains', () => {
  const positives = ['h100-550.90.07-full', 'gb100-575.32', 'h100-590.12-ppcie-0', 'h100-545.00-full-test-rims'];

  it.each(positives)('%s: node:crypto agrees that chain and signature hold', (id) => {
    const chain = chainOf(id).map((der) => new X509Certificate(der));
    chain.slice(0, -1).forEach((child, n) => expect(child.verify(chain[n + 1]!.publicKey)).toBe(true));
    const { signed, signature } = parseReport(bytes(`${id}/report.bin`));
    const key = { key: chain[0]!.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(nodeVerify('sha384', signed, key, signature)).toBe(true);
  });

  it.each(positives)('%s: one flipped bit in any field is refused', async (id) => {
    const evidence = evidenceOf(id);
    expect((await verifyNvidia(evidence)).authenticity).toBe('authentic');
    const { fields } = parseReport(evidence.report);
    expect(fields.at(-1)).toEqual({ name: 'SIGNATURE', offset: evidence.report.length - 96, length: 96 });
    for (const [n, field] of fields.entries()) {
      if (field.length === 0) continue;
      const mutated = flip(evidence.report, field.offset + (n % field.length), n % 8);
      await expectForged({ ...evidence, report: mutated }, field.name);
    }
  });

  it('every truncation and every longer report is refused', async () => {
    const evidence = evidenceOf('h100-550.90.07-full');
    const { report } = evidence;
    for (let length = 0; length < report.length; length++) {
      expect(() => parseReport(report.subarray(0, length)), `${length}`).toThrow(/NVIDIA_REPORT_/);
    }
    for (const length of [0, 1, 36, 37, 4020, report.length - 1]) {
      await expectForged({ ...evidence, report: report.subarray(0, length) }, `${length} bytes`);
    }
    const longer = new Uint8Array(report.length + 1);
    longer.set(report);
    expect(await expectForged({ ...evidence, report: longer }, 'trailing')).toContain('NVIDIA_REPORT_TRAILING_BYTES');
    expect(await expectForged({ ...evidence, report: new Uint8Array(17_000) }, 'size')).toContain('NVIDIA_REPORT_SIZE');
  });

  it('r and s reversed, zero or out of range are refused', async () => {
    const evidence = evidenceOf('h100-550.90.07-full');
    const at = evidence.report.length - 96;
    const withSignature = (change: (signature: Uint8Array) => void): Uint8Array => {
      const report = evidence.report.slice();
      change(report.subarray(at));
      return report;
    };
    const changed = [
      withSignature((signature) => signature.set([...signature.slice(48), ...signature.slice(0, 48)])),
      withSignature((signature) => signature.reverse()),
      withSignature((signature) => signature.fill(0)),
      withSignature((signature) => signature.fill(0, 48)),
      withSignature((signature) => signature.fill(0xff)),
    ];
    for (const report of changed) {
      expect(await expectForged({ ...evidence, report }, 'signature')).toEqual(['NVIDIA_REPORT_SIGNATURE']);
    }
  });

  it('every other order, gap, repetition or mixture of certificates is refused', async () => {
    const evidence = evidenceOf('h100-550.90.07-full');
    const chain = chainOf('h100-550.90.07-full');
    const other = chainOf('h100-590.12-ppcie-0');
    const swap = (a: number, b: number): Uint8Array[] =>
      chain.map((item, n) => (n === a ? chain[b]! : n === b ? chain[a]! : item));
    const chains: Uint8Array[][] = [[]];
    for (let a = 0; a < chain.length; a++) {
      if (a < chain.length) chains.push(chain.filter((_, n) => n !== a));
      chains.push(
        [...chain, chain[a]!],
        chain.map((item, n) => (n === a ? other[a]! : item)),
      );
      for (let b = a + 1; b < chain.length; b++) chains.push(swap(a, b));
    }
    chains.push([...chain].reverse(), chainOf('gb100-575.32'));
    const given = chain.map(toHex).join();
    const different = chains.filter((item) => item.map(toHex).join() !== given);
    expect(different.length).toBeGreaterThan(20);
    for (const certificateChain of different) await expectForged({ ...evidence, certificateChain }, 'chain');
  });

  it('a flipped bit in any certificate is refused', async () => {
    const evidence = evidenceOf('gb100-575.32');
    const chain = chainOf('gb100-575.32');
    for (const [n, der] of chain.entries()) {
      for (let offset = n; offset < der.length; offset += 19) {
        const certificateChain = chain.with(n, flip(der, offset, offset % 8));
        await expectForged({ ...evidence, certificateChain }, `certificate ${n} at ${offset}`);
      }
    }
  });
});
