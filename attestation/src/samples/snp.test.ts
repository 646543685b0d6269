import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runSnpSample } from './snp.js';

const root = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/amd-snp`;
const anchorsOf = () =>
  readdirSync(`${root}/anchors`)
    .filter((name) => name.endsWith('.pem'))
    .map((name) => readFileSync(`${root}/anchors/${name}`, 'utf8'));

interface Entry {
  readonly id: string;
  readonly files: Record<string, { file: string }>;
  readonly expect: { authentic: boolean; appraisal: string | null; at: string } | null;
}

describe.skipIf(!existsSync(root))('real SNP samples', () => {
  const entries = existsSync(root) ? (JSON.parse(readFileSync(`${root}/manifest.json`, 'utf8')) as Entry[]) : [];
  for (const entry of entries) {
    it(entry.id, async () => {
      const files = new Map(
        Object.entries(entry.files).map(([role, { file }]) => [role, new Uint8Array(readFileSync(`${root}/${file}`))]),
      );
      const at = Date.parse(entry.expect?.at ?? '2026-06-15T00:00:00Z') / 1000;
      const verdict = await runSnpSample({ id: entry.id, files, anchors: anchorsOf(), at });
      const codes = verdict.checks
        .filter(({ status }) => status !== 'met')
        .map(({ code, status, got, expected }) => `${code} ${status} got ${got} expected ${expected}`);
      console.log(entry.id, verdict.authentic, verdict.appraisal, codes);
      if (entry.expect)
        expect(verdict).toMatchObject({ authentic: entry.expect.authentic, appraisal: entry.expect.appraisal });
      else expect(verdict.authentic).toBe(true);
    });
  }
});
