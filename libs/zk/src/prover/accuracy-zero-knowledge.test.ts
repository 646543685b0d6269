/**
 * What a statement about a set of records hides (libs/zk/SPEC.md §21): each mask drawn anew changes all that it hides,
 * no two statements share a pad, and a simulator without a witness makes a transcript that is accepted.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { createEngine } from '../commit/kernels/index.js';
import { oodWord } from '../commit/layout/ood.js';
import * as multiproof from '../merkle/multiproof.js';
import { levelsOf } from '../relation/levels.js';
import { partsOfCount, testCount, type CountChoice } from '../testing/accuracy.js';
import { freezeChallenges } from '../testing/lies.js';
import { common, masksOf, withMask } from '../testing/masks.js';
import { carriedOpening, Noise } from '../testing/noise.js';
import { seedOf, testManifest, testProfile } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { accuracyScheme, openAccuracy, runAccuracyVerifier, type AccuracyStatement } from '../verifier/accuracy.js';
import { reduceCount } from '../verifier/flow/count.js';
import { checkOpening } from '../verifier/opening.js';
import { ProofBytes } from '../verifier/source.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { proveAccuracy } from './prove-accuracy.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const { plan } = testCount(backend, { profile });

afterEach(() => vi.restoreAllMocks());

describe('masks', () => {
  const run = (label: string, seed?: string) =>
    withMask(label, seed, () => {
      const own = testCount(backend, { profile });
      const { proof, statement } = proveAccuracy(backend, own.plan, own.input);
      return { proof, parts: partsOfCount(own.plan, statement, proof) };
    });

  it.each(masksOf(plan))(
    '%s, drawn anew, change all that they hide, and left out are missed',
    (_name, label, hidden) => {
      const [a, b] = [run(label, 'one'), run(label, 'another')];
      expect(hidden(a).length).toBeGreaterThan(0);
      expect(common(hidden, a, b)).toBe(0);
      const [c, d] = [run(label), run(label)];
      expect(common(hidden, c, d)).toBe(hidden(c).length);
    },
  );
});

describe('pads', () => {
  /** Of the masked messages of a proof, in hexadecimal. */
  const padsOf = (choice: CountChoice, change: (statement: AccuracyStatement) => object = () => ({})): string => {
    const keys: Uint8Array[] = [];
    const honest = mask.accuracyKey;
    vi.spyOn(mask, 'accuracyKey').mockImplementation((...given) => {
      const key = honest(...given);
      keys.push(key);
      return key;
    });
    const { plan: own, input } = testCount(backend, { profile, records: 16, ...choice });
    const statement = { ...input.statement, ...change({ ...input.statement, correct: 0 }) };
    proveAccuracy(backend, own, { ...input, statement });
    vi.restoreAllMocks();
    return toHex(keys[0]!);
  };

  it('are those of one statement, one witness and one secret alone', () => {
    const first = padsOf({});
    expect(padsOf({})).toBe(first);
    const others = [
      padsOf({ secret: 'another' }),
      padsOf({ records: 15 }),
      padsOf({ correctMax: 0 }),
      padsOf({}, () => ({ outerDigest: seedOf('another') })),
      padsOf({ manifest: { ...testManifest({ dims: [3, 4, 3] }), seed: `0x${'44'.repeat(32)}` } }),
    ];
    expect(new Set([first, ...others]).size).toBe(others.length + 1);
  });
});

const noise = new Noise(backend);

it('simulates an accepted transcript of any count without a witness', () => {
  const ood = { W0: [noise.element()], D: [noise.element()] };
  const { input } = testCount(backend, { profile });
  const of = (tree: 'W0' | 'D') => ({ root: seedOf(tree), ood: oodWord(ood[tree]) });
  const claimed: AccuracyStatement = { ...input.statement, correct: 5, weights: of('W0'), data: of('D') };
  const thaw = freezeChallenges();
  const { cells, trees, masks } = noise.rows(plan, ['S', 'D', 'W0'], ood);
  const honest = multiproof.rootOf;
  const order = 3 + levelsOf(profile).length;
  let call = 0;
  // The last hash of a path gives the root that the statement names.
  vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
    const reached = honest(...given);
    return [claimed.weights.root, trees.S.tree.root, claimed.data.root][call++ % order] ?? reached;
  });
  const source = new ProverSource(backend, plan.profile, noise.uniform(2 * 2 ** plan.messages.padVars), trees);
  const opened = openAccuracy(plan, claimed, new Transcript(accuracyScheme), source);
  source.follow(noise.script());
  const combined = reduceCount(opened.protocol, opened.known, claimed.correct);
  const transcript = new RecordingTranscript(accuracyScheme);
  const opening = new ProverSource(backend, plan.profile, noise.uniform(2), trees);
  const given = { cells, transcript, combined, masks, trees, publish: opening.publish.bind(opening) };
  opening.follow(carriedOpening(given));
  checkOpening(plan, transcript, opening, combined, opened.roots);
  const proof = Uint8Array.from([...source.bytes(), ...opening.bytes()]);
  const verify = (): void => runAccuracyVerifier(plan, claimed, new Transcript(accuracyScheme), new ProofBytes(proof));
  expect(verify).not.toThrow();
  thaw();
  expect(verify).toThrow('STEP_');
  vi.restoreAllMocks();
  const again = freezeChallenges();
  expect(verify).toThrow('STEP_MERKLE_W0');
  again();
});
