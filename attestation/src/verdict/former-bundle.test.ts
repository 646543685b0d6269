/**
 * Bundles of versions 1 to 3 as they were made under former terms, with the verdict that the reader of their day gave:
 * simulated hardware throughout. Version 2 carries statements where its proofs would be.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodePolicy, type AppraisalPolicy } from '../appraisal/policy.js';
import { fromHex } from '../base/bytes.js';
import { documentDigest, encodeDocument } from '../check/document.js';
import { encodeBundle, parseBundle, type AnyBundle } from '../records/bundle.js';
import { encodeJobSpec, parseJobSpec } from '../records/job-spec.js';
import { parseStepStatement } from '../records/step-statement.js';
import type { ProofVerifier } from './bundle-proofs.js';
import { verifyBundle } from './verify-bundle.js';

interface Verdict {
  readonly tier: string;
  readonly jobId: string;
  readonly escrowId: string;
  readonly result: string;
  readonly checks: Readonly<Record<string, string>>;
}

const folder = new URL('../../../test/support/fixtures/former-bundles/', import.meta.url);
const proofs: ProofVerifier = (_job, _index, { bytes }) => ({
  statement: parseStepStatement(bytes),
  soundnessBits: 100,
  start: 'seed',
});

async function verdictOf(bundle: Uint8Array): Promise<Verdict> {
  const { tier, jobId, escrowId, result, checks } = await verifyBundle({ bundle, proofs });
  return {
    tier,
    jobId,
    escrowId,
    result,
    checks: Object.fromEntries(checks.map(({ code, status }) => [code, status])),
  };
}

describe.each([1, 2, 3])('a bundle of version %d', (version) => {
  const bytes = new Uint8Array(readFileSync(new URL(`version-${version}.cbor`, folder)));
  const then = JSON.parse(readFileSync(new URL(`version-${version}.json`, folder), 'utf8')) as Verdict;

  it('keeps its verdict, check of the bundle by check', async () => {
    const now = await verdictOf(bytes);
    expect({ ...now, checks: ofBundle(now) }).toEqual({ ...then, checks: ofBundle(then) });
  });

  it.each<[string, Partial<AppraisalPolicy>]>([
    ['POLICY_NOT_PINNED', { environment: 'production', simulatedRoots: [] }],
    ['POLICY_SIMULATED_ROOTS', { environment: 'production' }],
  ])(
    'A-H2 under a policy that no longer counts is judged by the reader’s, and refused without one: %s',
    async (code, no) => {
      const made = parseBundle(bytes);
      const policy = decodePolicy(made.policy);
      const former = encodeDocument({ ...policy, ...no });
      const spec = { ...parseJobSpec(made.spec), policyDigest: fromHex(documentDigest({ ...policy, ...no })) };
      const bundle = encodeBundle({ ...made, policy: former, spec: encodeJobSpec(spec) } as AnyBundle);
      const [byReader, byItself] = [
        await verifyBundle({ bundle, proofs, policy }),
        await verifyBundle({ bundle, proofs }),
      ];
      const found = [byReader, byItself].map(({ checks }) => checks.find((check) => check.code === 'BUNDLE_POLICY'));
      expect(found).toMatchObject([{ status: 'met' }, { status: 'refused' }]);
      expect(found[1]!.got).toContain(code);
      expect(byReader.sessions.map(({ policyId }) => policyId)).toContain(policy.id);
      expect(byReader.checks.find((check) => check.code === 'BUNDLE_SESSIONS')).toMatchObject({ status: 'met' });
      expect(byItself.tier).toBe('contraindicated');
    },
  );

  it.each<[string, (bundle: AnyBundle) => AnyBundle]>([
    ['BUNDLE_RUN', (bundle) => ({ ...bundle, run: { ...bundle.run, last: new Uint8Array(32) } }) as AnyBundle],
    ['BUNDLE_TERMS', (bundle) => ({ ...bundle, terms: flipped(bundle.terms, 170) })],
    ['BUNDLE_APPRAISALS', (bundle) => ({ ...bundle, terms: flipped(bundle.terms, 120) })],
  ])('is refused by %s when it is changed there', async (code, change) => {
    const { tier, checks } = await verdictOf(encodeBundle(change(parseBundle(bytes))));
    expect([tier, checks[code]]).toEqual(['contraindicated', 'forged']);
  });
});

function ofBundle({ checks }: Verdict): [string, string][] {
  return Object.entries(checks).filter(([code]) => code.startsWith('BUNDLE_') && code !== 'BUNDLE_TRANSACTIONS');
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
}
