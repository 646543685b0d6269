/**
 * The batches of a segment are the blocks of the committed data set that the affine order names: forgers who train on
 * others, in both variants. What each of them makes is accepted by a verifier without the one check that stops it.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as step from '#libs/step';
import { dataDigestOf } from '../commit/commitment.js';
import { createEngine } from '../commit/kernels/index.js';
import { commitData } from '../prover/commitments.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { verdict } from '../testing/lies.js';
import { seedOf, testExamples, testManifest, testProfile, testSegment } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from './source.js';
import { type StepProofStatement } from './statement.js';
import { runVerifier } from './verify.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const manifest = testManifest({ superblock: 2 });
const records = 3 * manifest.superblock * manifest.batch;

afterEach(() => vi.restoreAllMocks());

describe.each(['joint', 'separate'] as const)('%s variant', (variant) => {
  const { plan, input } = testSegment(backend, { manifest, profile: { ...testProfile, grindFold: 12 }, variant });
  const due = step.superblockOfStep(manifest, 0, records);
  const commitments = [0, 1, 2].map((k) => commitData(backend, plan, testExamples(manifest, k), seedOf(`data ${k}`)));
  const digests = commitments.map(({ commitment }) => dataDigestOf(commitment, plan));
  const codeOf = (statement: StepProofStatement, proof: Uint8Array): string => {
    try {
      runVerifier(plan, statement, new Transcript(), new ProofBytes(proof));
      return 'accepted';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it.each([0, 1, 2].filter((k) => k !== due))('refuses superblock %i in its place', (other) => {
    const order = vi.spyOn(step, 'superblockOfStep').mockReturnValue(other);
    const { proof, statement } = proveSegment(backend, plan, {
      ...input,
      statement: {
        ...input.statement,
        data: commitments[other]!.commitment,
        dataPath: step.merklePath(digests, other),
      },
      examples: testExamples(manifest, other),
      dataSeed: seedOf(`data ${other}`),
    });
    expect(codeOf(statement, proof)).toBe('accepted');
    order.mockRestore();
    for (const k of [0, 1, 2]) {
      expect(codeOf({ ...statement, dataPath: step.merklePath(digests, k) }, proof)).toBe('MERKLE_PATH');
    }
    // The superblock's number is in the transcript as well.
    vi.spyOn(step, 'checkMerklePath').mockReturnValue(undefined);
    expect(codeOf(statement, proof)).toBe('STEP_POW');
  });

  it('refuses records that are in no superblock', () => {
    const examples = testExamples(manifest, 7);
    const foreign = commitData(backend, plan, examples, seedOf('foreign'));
    const change = { examples, dataSeed: seedOf('foreign') };
    const check = vi.spyOn(step, 'checkMerklePath').mockReturnValue(undefined);
    const { proof, statement } = proveSegment(backend, plan, {
      ...{ ...input, ...change },
      statement: { ...input.statement, data: foreign.commitment },
    });
    expect(codeOf(statement, proof)).toBe('accepted');
    check.mockRestore();
    expect(codeOf(statement, proof)).toBe('MERKLE_PATH');
    // Under the name of the registered ones they lead to another root.
    const renamed = { ...foreign, commitment: input.statement.data };
    expect(verdict(backend, { plan, input: { ...input, ...change, openedData: renamed } })).toBe('STEP_MERKLE_D');
  });
});
