/**
 * Zero knowledge by its definition: a simulator that knows neither weights nor data nor any witness makes a transcript
 * that the verifier accepts, given what a simulator is given: the challenges in advance and a hash that it programs.
 */
import { expect, it, vi } from 'vitest';
import { datasetRoot, merklePath, superblockOfStep } from '#libs/step';
import { dataDigestOf, type Commitment } from '../commit/commitment.js';
import type { Ext } from '../commit/field/extension.js';
import { createEngine } from '../commit/kernels/index.js';
import { dataTrees } from '../commit/layout/blocks.js';
import { oodWord } from '../commit/layout/ood.js';
import * as multiproof from '../merkle/multiproof.js';
import { levelsOf } from '../relation/levels.js';
import { specialRows } from '../relation/plan.js';
import { freezeChallenges } from '../testing/lies.js';
import { carriedOpening, Noise } from '../testing/noise.js';
import { seedOf, testProfile, testSegment, type TestSegment } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { reduceToOneClaim } from '../verifier/flow/flow.js';
import { checkOpening } from '../verifier/opening.js';
import { ProofBytes } from '../verifier/source.js';
import { type StepProofStatement } from '../verifier/statement.js';
import { openProtocol, runVerifier } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const usual = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 3, grind: 2, grindFold: 1 };
const profiles = [usual, { ...usual, oodPoints: 2, inputsFirst: true, deeper: [level] }] as const;

const noise = new Noise(backend);
const commitment = (name: string, ood: readonly Ext[]): Commitment => ({ root: seedOf(name), ood: oodWord(ood) });

/** Values outside the domain that nothing stands behind. */
type Values = Readonly<Record<'W0' | 'WT' | 'D', readonly Ext[]>>;

/** A statement whose commitments nobody can open. */
function statement({ plan, input }: TestSegment, values: Values): StepProofStatement {
  const { manifest } = plan.shape;
  const data = commitment('data', values.D);
  const digests = [0, 1, 2].map(() => dataDigestOf(data, plan));
  const path = merklePath(digests, superblockOfStep(manifest, 0, input.statement.recordCount));
  const { before: _before, data: _data, outerDigest: _outer, ...rest } = input.statement;
  const chosen = { data, dataPath: path, datasetRoot: datasetRoot(digests), outerDigest: seedOf('outer') };
  return { ...rest, ...chosen, before: commitment('before', values.W0), after: commitment('after', values.WT) };
}

/** The last hash of every path gives the root that the statement names. */
function programHash({ before, after, data }: StepProofStatement, trees: number): void {
  const honest = multiproof.rootOf;
  const roots = [before.root, after.root, data.root];
  let call = 0;
  vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
    const reached = honest(...given);
    const programmed = roots[call % trees];
    call += 1;
    return programmed ?? reached;
  });
}

it.each(profiles)('simulates an accepted transcript without a witness, $oodPoints points', (profile) => {
  const segment = testSegment(backend, { profile });
  const { plan } = segment;
  const some = (): Ext[] => Array.from({ length: profile.oodPoints }, () => noise.element());
  const values = { W0: some(), WT: some(), D: some() };
  const claimed = statement(segment, values);
  const thaw = freezeChallenges();
  programHash(claimed, 3 + levelsOf(profile).length);
  const { cells, trees, masks } = noise.rows(plan, dataTrees, values);
  expect(trees.S.matrix.rows).toBe(plan.trees.S.rows.length + specialRows);
  const source = new ProverSource(backend, plan.profile, noise.uniform(2 * 2 ** plan.messages.padVars), trees);
  const { context, protocol, known, roots } = openProtocol(plan, claimed, new Transcript(), source);
  source.follow(noise.script());
  const combined = reduceToOneClaim(protocol, known, context.stepSizes);
  const transcript = new RecordingTranscript();
  const opening = new ProverSource(backend, plan.profile, noise.uniform(2), trees);
  const publish = opening.publish.bind(opening);
  opening.follow(carriedOpening({ cells, transcript, combined, masks, trees, publish }));
  checkOpening(plan, transcript, opening, combined, roots);
  const proof = Uint8Array.from([...source.bytes(), ...opening.bytes()]);
  expect(() => runVerifier(plan, claimed, new Transcript(), new ProofBytes(proof))).not.toThrow();
  thaw();
  expect(() => runVerifier(plan, claimed, new Transcript(), new ProofBytes(proof))).toThrow('STEP_');
  vi.restoreAllMocks();
  const again = freezeChallenges();
  expect(() => runVerifier(plan, claimed, new Transcript(), new ProofBytes(proof))).toThrow('STEP_MERKLE_W0');
  again();
});
