import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runIntelSample } from './intel.js';
import { runNitroSample } from './nitro.js';
import type { SampleEntry, SampleRunner } from './types.js';

const vectors = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';

interface ManifestEntry {
  id: string;
  files: Record<string, { file: string }>;
  expect: { authentic: boolean; appraisal: string | null; at: string };
}

const folders: Record<string, SampleRunner> = {
  'intel-tdx': runIntelSample,
  'intel-sgx': runIntelSample,
  'aws-nitro': runNitroSample,
};

/** The codes that are not met, beyond the collateral that a folder does not have. */
const reasons: Record<string, string[]> = {
  'v4-td10-with-collateral': [],
  'v5-td15-no-matching-tcb-level': ['QUOTE_TCB_STATUS refused'],
  'v4-td10-debug': ['TDX_DEBUG refused'],
  'v4-td10-google-spr': ['QUOTE_TRAILING_BYTES warned', 'QUOTE_STRAY_BYTES warned'],
  'v5-td15-google': [],
  'v4-azure-vtpm': [],
  'v3-with-collateral': ['QUOTE_TCB_STATUS warned'],
  'v3-automata-icelake': [],
  'v3-debug-enclave-coffeelake': ['SGX_DEBUG refused'],
  'nitro-eif': [],
  'nitro-debug': ['NITRO_DEBUG refused'],
  'nitro-veracruz': [],
  'nitro-veracruz-bad-signature': ['NITRO_SIGNATURE forged'],
  'nitro-evervault-debug': ['NITRO_DEBUG refused'],
};

describe.skipIf(!existsSync(vectors))('samples', () => {
  for (const [folder, run] of Object.entries(folders)) {
    const read = (file: string) => new Uint8Array(readFileSync(join(vectors, folder, file)));
    const text = (file: string) => new TextDecoder().decode(read(file));
    const entries = existsSync(vectors) ? (JSON.parse(text('manifest.json')) as ManifestEntry[]) : [];
    for (const { id, files, expect: expected } of entries) {
      it(`${folder}/${id}`, async () => {
        const entry: SampleEntry = {
          id,
          files: new Map(Object.entries(files).map(([role, { file }]) => [role, read(file)])),
          anchors: (JSON.parse(text('anchors/anchors.json')) as { file: string }[]).map(({ file }) => text(file)),
          at: Date.parse(expected.at) / 1000,
        };
        const verdict = await run(entry);
        const failed = verdict.checks.filter(({ status }) => status !== 'met');
        expect(verdict.authentic, JSON.stringify(failed)).toBe(expected.authentic);
        if (expected.appraisal !== null) expect(verdict.appraisal, JSON.stringify(failed)).toBe(expected.appraisal);
        const decisive = failed
          .filter(({ status }) => status !== 'missing')
          .map((check) => `${check.code} ${check.status}`);
        expect(decisive).toEqual(reasons[id]);
        expect(verdict.checks.some(({ status }) => status === 'not-checked')).toBe(false);
      });
    }
  }
});
