import { expect, it } from 'vitest';
import { meaningOf, meanings } from './meanings.js';

it('says what each check means in one sentence of at most 120 characters, without the vocabulary', () => {
  expect(Object.keys(meanings).length).toBeGreaterThan(100);
  for (const [id, means] of Object.entries(meanings)) {
    expect(means.length, id).toBeLessThanOrEqual(120);
    expect(means, id).toMatch(/^[A-Z][^\n]*\.$/);
    expect(means, id).not.toMatch(/\b(SNP|TCB|VCEK|VLEK|CRL|OCSP|RIM|PCR|COSE|CBOR|REPORT_DATA|nonce)\b/);
  }
});

it('gives several checks of one kind the same sentence', () => {
  expect(meaningOf('SNP_LAUNCH_DIGEST ovmf-4')).toBe(meanings.SNP_LAUNCH_DIGEST);
});
