/**
 * Zero knowledge by its definition: a simulator that knows neither weights nor data nor any witness makes a transcript
 * that the verifier accepts, given what a simulator is given: the challenges in advance and a hash that it programs.
 */
import { expect, it, vi } from 'vitest';
import { datasetRoot, merklePath, superblockOfStep } from '#libs/step';
import { buildTree, encodeMatrix, type OpenableTree } from '../commit/commit.js';
import { dataDigestOf, type Commitment } from '../commit/commitment.js';
import { extFromDigest } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { inversePowerOfTwo } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { dataTrees } from '../commit/layout/blocks.js';
import { oodWord } from '../commit/layout/ood.js';
import { randomPerRow } from '../commit/params.js';
import { prfElements } from '../commit/randomness.js';
import * as multiproof from '../merkle/multiproof.js';
import { levelsOf } from '../relation/levels.js';
import { specialRows, type Plan } from '../relation/plan.js';
import { claimValue, freezeChallenges, frozenChallenge } from '../testing/lies.js';
import { seedOf, testProfile, testSegment, type TestSegment } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { reduceToOneClaim } from '../verifier/flow/flow.js';
import { checkOpening } from '../verifier/opening.js';
import { ProofBytes } from '../verifier/source.js';
import { type StepProofStatement } from '../verifier/statement.js';
import { openProtocol, runVerifier } from '../verifier/verify.js';
import { Cells } from './cells.js';
import { KernelBackend } from './kernel-backend.js';
import { maskRows } from './mask.js';
import { openingScript } from './opening-script.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';
import type { Script } from './sumcheck-script.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const usual = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 3, grind: 2, grindFold: 1 };
const profiles = [usual, { ...usual, oodPoints: 2, inputsFirst: true, deeper: [level] }] as const;

let draws = 0;
const uniform = (count: number): BigUint64Array =>
  prfElements(backend, seedOf('simulator'), 'simulated', draws++, count);
const element = (): Ext => {
  const [c0, c1] = uniform(2);
  return { c0: c0!, c1: c1! };
};
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

/** Rows of noise in the place of every tree. */
function noise(
  of: Plan,
  values: Values,
): {
  cells: Cells;
  trees: Record<(typeof dataTrees)[number], OpenableTree>;
  masks: ReturnType<typeof maskRows>['masks'];
} {
  const cells = new Cells(of, backend);
  for (const tree of dataTrees) {
    for (const row of of.trees[tree].globalRows) {
      cells.row(row)!.set(uniform(2 ** of.profile.m));
    }
  }
  const special = maskRows(backend, of, seedOf('simulated masks'));
  const t = randomPerRow(of.profile);
  const treeOf = (tree: (typeof dataTrees)[number]): OpenableTree => {
    const stored = cells.rows(tree);
    const random = uniform(of.trees[tree].rows.length * t);
    const rows =
      tree === 'S'
        ? { messages: [...stored, ...special.messages], random: joined(random, special.random) }
        : { messages: stored, random };
    const matrix = encodeMatrix(backend, rows, of.profile);
    const leaves = 2 ** (of.profile.m + of.profile.logBlowup);
    const aux = backend.counterHashes(seedOf(`aux ${tree}`), 0, leaves);
    const ood = tree === 'S' ? {} : { ood: values[tree] };
    return { matrix, tree: buildTree(backend, aux, of.profile), endings: { given: aux }, ...ood };
  };
  const trees = { S: treeOf('S'), D: treeOf('D'), W0: treeOf('W0'), WT: treeOf('WT') };
  expect(trees.S.matrix.rows).toBe(of.trees.S.rows.length + specialRows);
  return { cells, trees, masks: special.masks };
}

function joined(a: BigUint64Array, b: BigUint64Array): BigUint64Array {
  const out = backend.base(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** Uniform messages without end. */
function* noiseScript(): Script {
  for (;;) yield element();
}

/** The opening of the noise, u moved so that it carries the claim. */
function* openingOf(given: Parameters<typeof openingScript>[0]): Script {
  const { rowVars } = given.cells.plan;
  const missing = F.sub(given.combined.target, claimValue(backend, given.cells, given.combined));
  const delta = extFromDigest(frozenChallenge('delta', 0));
  const shift = F.neg(F.mul(delta, F.scale(missing, inversePowerOfTwo(rowVars))));
  let place = 0;
  for (const message of openingScript(given)) yield place++ === 2 * rowVars ? F.add(message, shift) : message;
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
  const some = (): Ext[] => Array.from({ length: profile.oodPoints }, element);
  const values = { W0: some(), WT: some(), D: some() };
  const claimed = statement(segment, values);
  const thaw = freezeChallenges();
  programHash(claimed, 3 + levelsOf(profile).length);
  const { cells, trees, masks } = noise(plan, values);
  const source = new ProverSource(backend, plan.profile, uniform(2 * 2 ** plan.messages.padVars), trees);
  const { context, protocol, known, roots } = openProtocol(plan, claimed, new Transcript(), source);
  source.follow(noiseScript());
  const combined = reduceToOneClaim(protocol, known, context.stepSizes);
  const transcript = new RecordingTranscript();
  const opening = new ProverSource(backend, plan.profile, uniform(2), trees);
  const publish = opening.publish.bind(opening);
  opening.follow(openingOf({ cells, transcript, combined, masks, trees, publish }));
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
