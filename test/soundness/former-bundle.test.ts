/** Bundles that the former release made: what one altered byte does to them. Their verdicts are held by attestation's own test. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodePolicy, verifyBundle, type BundleVerdict } from '#attestation';
import { CodedError } from '#attestation/base';
import { parseBundle } from '#attestation/records';
import { differences } from '#test/differences';

const folder = new URL('../support/fixtures/former-bundles/', import.meta.url);
/** Coprime to the lengths of what is in them, so that every part is met. */
const stride = 199;

async function verdictOf(bundle: Uint8Array): Promise<BundleVerdict | null> {
  try {
    return await verifyBundle({ bundle });
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}

describe.each([1, 3])('a bundle of version %d', (version) => {
  const bytes = new Uint8Array(readFileSync(new URL(`version-${version}.cbor`, folder)));

  it('is affirmed under the policy that it carries but for what simulated hardware is warned of', async () => {
    const policy = decodePolicy(parseBundle(bytes).policy);
    const own = await verifyBundle({ bundle: bytes, policy });
    const warned = (verdict: BundleVerdict) =>
      verdict.checks.filter(({ status }) => status !== 'met' && status !== 'not-checked').map(({ code }) => code);
    expect(warned(own).every((code) => ['SIMULATED_HARDWARE', 'SNP_REVOKED'].includes(code))).toBe(true);
    expect(own.tier).toBe('warning');
    expect(warned(await verifyBundle({ bundle: bytes }))).toEqual(['BUNDLE_POLICY', ...warned(own)]);
  });

  it('is refused with one byte altered, or the byte lies in a part that is named as not checked', async () => {
    const good = (await verdictOf(bytes))!;
    let refused = 0;
    for (let at = version; at < bytes.length; at += stride) {
      const altered = bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
      const verdict = await verdictOf(altered);
      if (verdict === null || verdict.tier === 'contraindicated') {
        refused += 1;
        continue;
      }
      expect(verdict.tier).toBe(good.tier);
      const changed = differences(good.bundle, verdict.bundle);
      const unnamed = changed.filter((path) => !good.notChecked.some((part) => path.startsWith(part)));
      expect([at, unnamed]).toEqual([at, []]);
      expect(changed).not.toEqual([]);
    }
    expect(refused).toBeGreaterThan(20);
  });
});
