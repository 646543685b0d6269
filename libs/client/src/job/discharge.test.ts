/** Under which number the escrow is told a proof: that of what one proof covers, not of superblocks. */
import { expect, it, vi } from 'vitest';
import { escrowIdOf, stepSpecDigest, type Terms } from '#attestation/records';
import { encodeProofBundle, planOf, type ProofStatement } from '#libs/proof';
import type { SettlementClient } from '#libs/settlement';
import { manifestDigest, profileManifest } from '#libs/step';
import { teeTerms } from '#test/escrow-terms';
import { dischargeSegments } from './discharge.js';

vi.mock('#libs/proof', async (original) => ({
  ...(await original<typeof import('#libs/proof')>()),
  verifyProofBundle: () => undefined,
}));

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const commitment = { root: word(1), ood: word(0) };
const seed = `0x${'22'.repeat(32)}`;

function statementOf(profile: string, superblock: number, firstStep: number, count: number): ProofStatement {
  return {
    ...{ backend: 'sumcheck', profile, variant: 'separate', firstStep },
    manifest: profileManifest('fx1', { dims: [16, 8, 10], batch: 4, e: 8, steps: 600, seed, superblock }),
    ...{ jobId: word(3), recordCount: 64, datasetRoot: word(4) },
    borders: Array.from({ length: count + 1 }, () => commitment),
    segments: Array.from({ length: count }, () => ({ data: commitment, path: [] })),
  };
}

function termsFor({ manifest, ...statement }: ProofStatement): Terms {
  const spec = {
    ...{ jobSpec: statement.jobId, manifestDigest: manifestDigest(manifest), datasetRoot: statement.datasetRoot },
    ...{ seed: new Uint8Array(32).fill(0x22), steps: manifest.steps, recordCount: statement.recordCount },
    schedule: manifest.optimizer.m.map(([from, m]) => from * 256 + m),
  };
  const party = new Uint8Array(20).fill(5);
  return teeTerms({
    ...{ client: party, provider: party, keyBroker: party, initialWeights: word(6), policy: word(7) },
    ...{ segments: 10, seedCommitClient: word(8), acceptBy: 0, windows: {} },
    specDigest: stepSpecDigest(spec, planOf({ manifest, profile: statement.profile, variant: 'separate' }).digest),
  });
}

it.each([
  ['chain1', 4, 8, [2, 3]],
  ['unit64', 8, 64, [1, 2]],
  ['unit64', 8, 0, [0, 1]],
] as const)('%s, superblocks of %i steps, from step %i: %j', async (profile, superblock, firstStep, told) => {
  const statement = statementOf(profile, superblock, firstStep, 2);
  const terms = termsFor(statement);
  const discharge = vi.fn(() => Promise.resolve({ txHash: '0x' }));
  const escrow = { domain: word(9), duties: { bordersOf: () => Promise.resolve([]), discharge } };
  const bundle = encodeProofBundle([word(10), word(11)]);
  const of = { ...statement, escrow: { domain: word(9), job: escrowIdOf(terms) } };
  const discharged = await dischargeSegments(escrow as unknown as SettlementClient, terms, bundle, of);
  expect(discharged.map(({ segment }) => segment)).toEqual(told);
  expect(discharge.mock.calls.map((given: readonly unknown[]) => given[1])).toEqual(told);
});
