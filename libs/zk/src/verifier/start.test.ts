import { describe, expect, it } from 'vitest';
import { initialWeights, profileManifest, type Manifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { startSeed } from '../commit/layout/start.js';
import { profiles } from '../commit/params.js';
import { commitWeights } from '../prover/commitments.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { seedOf, testManifest, testProfile, testSeed, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from './source.js';
import { requireInitialWeights, verifyStart } from './start.js';
import { runVerifier, verifyStepProof } from './verify.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 13 }));

function start(manifest: Manifest, choice: Partial<SegmentChoice> = {}) {
  const before = { weights: initialWeights(manifest), seed: startSeed(manifest) };
  const { plan, input } = testSegment(backend, { manifest, before, ...choice });
  return { plan, input, ...proveSegment(backend, plan, input) };
}

/** Leaves of the weights before that an accepted proof opens. */
function openedBy({ plan, statement, proof }: ReturnType<typeof start>): Map<number, Uint8Array> {
  const opened = new Map<number, Uint8Array>();
  class Watching extends ProofBytes {
    override symbols(tree: 'W0', leaf: number, count: number): Uint8Array {
      const symbols = super.symbols(tree, leaf, count);
      if (tree === 'W0') opened.set(leaf, symbols);
      return symbols;
    }
  }
  runVerifier(plan, statement, new Transcript(), new Watching(proof));
  return opened;
}

describe('the start of a job', () => {
  it.each([
    [[3, 4, 2], { ...testProfile }],
    [[5, 7, 3], { ...testProfile, oodPoints: 2 as const }],
    [[40, 30, 3], { ...testProfile, m: 9, k1: 3 }],
  ])('is recognised in what a proof opens: %j', (dims, profile) => {
    const made = start(testManifest({ dims }), { profile });
    expect(() => requireInitialWeights(made.plan, made.statement.before, openedBy(made))).not.toThrow();
  });

  const made = start(testManifest());
  const opened = openedBy(made);
  const { plan, statement } = made;

  it.each<[string, () => void]>([
    [
      'of another job',
      () =>
        requireInitialWeights(
          { ...plan, shape: { ...plan.shape, manifest: testManifest({ seed: `0x${'33'.repeat(32)}` }) } },
          statement.before,
          opened,
        ),
    ],
    ['with one weight changed', () => changedWeight()],
    [
      'under a secret seed',
      () => {
        const other = start(testManifest(), {
          before: { weights: initialWeights(testManifest()), seed: seedOf('secret') },
        });
        requireInitialWeights(other.plan, other.statement.before, openedBy(other));
      },
    ],
    [
      'with the value of other weights',
      () => requireInitialWeights(plan, { ...statement.before, ood: statement.after.ood }, opened),
    ],
    [
      'with one opened symbol changed',
      () => {
        const [[leaf, symbols]] = [...opened] as [[number, Uint8Array]];
        const changed = Uint8Array.from(symbols);
        changed[7]! ^= 1;
        requireInitialWeights(plan, statement.before, new Map([...opened, [leaf, changed]]));
      },
    ],
  ])('is not recognised %s', (_name, check) => {
    expect(check).toThrow('STEP_START');
  });

  function changedWeight(): void {
    const weights = initialWeights(testManifest());
    weights[0]!.values[5]! += 1n;
    const forged = start(testManifest(), { before: { weights, seed: startSeed(testManifest()) } });
    // The forger claims the value that the initial weights would have.
    const { ood } = commitWeights(
      backend,
      forged.plan,
      initialWeights(testManifest()),
      startSeed(testManifest()),
    ).commitment;
    requireInitialWeights(forged.plan, { ...forged.statement.before, ood }, openedBy(forged));
  }
});

describe('through the door, 784-64-10 at 100 bits', () => {
  const manifest = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed: testSeed });
  const profile = profiles.get('chain1')!;

  it('accepts the start, and only the start', () => {
    const { proof, statement } = start(manifest, { profile });
    expect(verifyStart(proof, statement)).toEqual(verifyStepProof(proof, statement));
    expect(() => verifyStart(proof, { ...statement, index: 1 })).toThrow('STEP_START');
  });
});
