/**
 * Bundles of every version, with the verdicts that were given on them before all versions were read into one shape:
 * simulated hardware throughout. Where a proof would be stands the statement that it would show.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { verifyBundle, type ProofVerifier } from '#attestation';
import {
  bordersRoot,
  decodeTerms,
  encodeBundle,
  encodeTerms,
  parseBundle,
  parseStepStatement,
  type EvidenceBundle,
} from '#attestation/records';
import { fixturePath } from '#test/fixture';

const files = [
  ...['former-bundles/version-1', 'former-bundles/version-2', 'former-bundles/version-3'],
  ...['bundles/version-4', 'bundles/version-4-rounds', 'bundles/version-4-proved'],
];
const golden = JSON.parse(readFileSync(fixturePath('bundles/verdicts.json'), 'utf8')) as Record<string, unknown>;

const proofs: ProofVerifier = (_job, _index, { bytes }) => ({
  statement: parseStepStatement(bytes),
  soundnessBits: 100,
  start: 'seed',
});

async function documentOf(bundle: Uint8Array) {
  const { checks, bundle: judged, ...verdict } = await verifyBundle({ bundle, proofs });
  const { tier, simulated, jobId, escrowId, datasetRoot, result, steps, segments, notChecked } = verdict;
  return {
    ...{ tier, simulated, jobId, escrowId, datasetRoot, result, steps, segments, notChecked },
    transactions: judged.settlement.transactions.map(({ call }) => call),
    checks: checks.map(({ code, status, got }) => `${code} ${status}: ${got}`),
  };
}

/** A proved job without sessions has no signature over its terms and its run: whoever proves one segment can make this. */
it.each(['version-4-proved', 'version-4', 'version-4-rounds'])(
  '%s, complete after its first segment by terms that have no more, is refused by BUNDLE_CHAIN too',
  async (name) => {
    const bytes = new Uint8Array(readFileSync(fixturePath(`bundles/${name}.cbor`)));
    const whole = parseBundle(bytes) as EvidenceBundle;
    const segments = whole.segments.slice(0, 1);
    const terms = { ...decodeTerms(whole.terms), segments: 1 };
    const { weightsAfter } = parseStepStatement(segments[0]!.statement.slice(0, 224));
    const borders = [terms.initialWeights, weightsAfter];
    const run = { ...whole.run, upTo: 1, bordersRoot: bordersRoot(borders), last: weightsAfter };
    const cut = encodeBundle({ ...whole, segments, terms: encodeTerms(terms), run });
    const unmet = async (bundle: Uint8Array) => {
      const { checks } = await verifyBundle({ bundle, proofs });
      return checks.filter(({ status }) => status === 'forged' || status === 'refused').map(({ id }) => id);
    };
    expect([whole.segments.length > 1, await unmet(bytes)]).toEqual([true, []]);
    expect(await unmet(cut)).toContain('BUNDLE_CHAIN');
  },
);

it.each(files)('the verdict on %s is the one that was given, check by check', async (name) => {
  const bytes = new Uint8Array(readFileSync(fixturePath(`${name}.cbor`)));
  expect(await documentOf(bytes)).toEqual(golden[name]);
});
