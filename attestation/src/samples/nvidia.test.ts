import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runNvidiaSample } from './nvidia.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu`;
const present = existsSync(`${folder}/manifest.json`);
if (!present) console.warn(`SKIPPED: no samples at ${folder}`);

interface Entry {
  readonly id: string;
  readonly files: Readonly<Record<string, { readonly file: string }>>;
  readonly expect: { readonly authentic: boolean; readonly appraisal: string | null; readonly at: string };
}

const entries: Entry[] = present ? JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8')) : [];
const anchors = present
  ? readdirSync(`${folder}/anchors`)
      .filter((name) => name.endsWith('.pem'))
      .map((name) => readFileSync(`${folder}/anchors/${name}`, 'utf8'))
  : [];

/** Codes that state the manifest's reasons, and nothing but these may be forged, refused or missing. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  'h100-545.00-vbios-mismatch': ['NVIDIA_MEASUREMENT_MISMATCH'],
  'h100-535.86.09-driver-rim-altered': ['NVIDIA_DRIVER_RIM_SIGNATURE', 'NVIDIA_MEASUREMENT_MISMATCH'],
  'h100-bad-report-signature': ['NVIDIA_REPORT_SIGNATURE', 'NVIDIA_FWID_MISMATCH'],
  'h100-580.95.05-trailing-byte': ['NVIDIA_REPORT_TRAILING_BYTES'],
  'h100-chain-root-only': [
    'NVIDIA_LEAF_MISSING',
    'NVIDIA_CHAIN_LENGTH',
    'NVIDIA_REPORT_SIGNATURE',
    'NVIDIA_FWID_MISMATCH',
  ],
  'h100-chain-missing-intermediate': ['NVIDIA_CHAIN_INCOMPLETE'],
  'h100-chain-missing-leaf': [
    'NVIDIA_LEAF_MISSING',
    'X509_PATH_KEY_USAGE',
    'NVIDIA_REPORT_SIGNATURE',
    'NVIDIA_FWID_MISMATCH',
  ],
  'rim-driver-gh100-550.144.03-bad-signature': ['NVIDIA_RIM_SIGNATURE'],
  'rim-vbios-gb100-debug-root': ['NVIDIA_RIM_ISSUER'],
};

describe.skipIf(!present)('real NVIDIA evidence', () => {
  it.each(entries)('$id comes out as its manifest says, for that reason', async (entry) => {
    const files = new Map(
      Object.entries(entry.files).map(([role, { file }]) => [role, new Uint8Array(readFileSync(`${folder}/${file}`))]),
    );
    const verdict = await runNvidiaSample({ id: '', files, anchors, at: Date.parse(entry.expect.at) / 1000 });
    expect(verdict.authentic).toBe(entry.expect.authentic);
    if (entry.expect.appraisal !== null) expect(verdict.appraisal).toBe(entry.expect.appraisal);
    const bad = verdict.checks.filter((check) => check.status === 'forged' || check.status === 'refused');
    expect(bad.map((check) => check.code).sort()).toEqual([...(reasons[entry.id] ?? [])].sort());
    if (verdict.appraisal === 'none') {
      const missing = verdict.checks.filter((check) => check.status === 'missing').map((check) => check.code);
      expect(missing).toEqual(['NVIDIA_DRIVER_RIM_ABSENT', 'NVIDIA_VBIOS_RIM_ABSENT']);
    }
  });
});
