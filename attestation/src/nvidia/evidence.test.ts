import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../base/bytes.js';
import { parseGpuEvidence } from './evidence.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu`;
const entry = { arch: 'HOPPER', nonce: '00'.repeat(32), evidence: 'AAAA', certificate: 'AAAA' };
const parse = (value: unknown): unknown => parseGpuEvidence(utf8(JSON.stringify(value)));

describe('parseGpuEvidence', () => {
  it('reads one and several', () => {
    expect(parseGpuEvidence(utf8(JSON.stringify([entry, entry]))).length).toBe(2);
    expect(parseGpuEvidence(utf8(JSON.stringify(entry)))[0]!.nonce.length).toBe(32);
  });

  it.skipIf(!existsSync(folder))('reads the real form', () => {
    const id = 'h100-590.12-ppcie-0';
    const [read] = parseGpuEvidence(new Uint8Array(readFileSync(`${folder}/${id}/evidence.json`)));
    expect(read!.report).toEqual(new Uint8Array(readFileSync(`${folder}/${id}/report.bin`)));
    expect(read!.certificateChain).toBe(readFileSync(`${folder}/${id}/cert-chain.pem`, 'utf8'));
  });

  it.each([
    [[], /FORM/],
    [null, /FORM/],
    [Array(65).fill(entry), /FORM/],
    [{ ...entry, arch: 'AMPERE' }, /FORM/],
    [{ ...entry, nonce: '00' }, /FORM/],
    [{ ...entry, nonce: 'zz' }, /BYTES_HEX/],
    [{ ...entry, evidence: '!' }, /BYTES_BASE64/],
    [{ ...entry, certificate: 5 }, /FORM/],
    ['x'.repeat(1024 * 1024), /SIZE/],
  ])('refuses %#', (value, code) => {
    expect(() => parse(value)).toThrow(code);
  });

  it('refuses what is no JSON', () => {
    expect(() => parseGpuEvidence(utf8('{'))).toThrow(/NVIDIA_EVIDENCE_FORM/);
  });
});
