import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { changePads } from '../testing/flow-lies.js';
import { codeOfProof, executedOtherwise, swaps, type Forgery } from '../testing/lies.js';
import { testManifest, testSegment, type TestSegment } from '../testing/segments.js';
import type { LinearForm } from '../verifier/linear-form.js';
import { MaskedProtocol } from '../verifier/masked-protocol.js';
import type { SegmentWitness } from './execute.js';
import { KernelBackend } from './kernel-backend.js';
import { countLookups } from './multiplicities.js';
import { proveWitness, runSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const forTwoSteps = testSegment(backend, { manifest: testManifest({ dims: [3, 4, 3], superblock: 2 }) });

afterEach(() => vi.restoreAllMocks());

/** What the verifier says of the proof of a whole witness. */
function judgeWitness({ plan, input }: TestSegment, segment: SegmentWitness): string {
  const { statement, proof } = proveWitness(backend, plan, input, segment).result;
  return codeOfProof(plan, statement, proof);
}

describe.each(['softmax-ce', 'mse'] as const)('a whole execution of something else is rejected: %s', (loss) => {
  const segment = testSegment(backend, { manifest: testManifest({ dims: [3, 4, 3], superblock: 2, loss }) });

  it.each(Object.keys(swaps))('%s', (swap) => {
    const forged = executedOtherwise(backend, segment, swap);
    expect(forged.after).not.toEqual(runSegment(backend, segment.plan, segment.input).after);
    expect(judgeWitness(segment, forged)).toBe('STEP_FINAL_CHECK');
  });

  it.each(['d', 'eps', 'sel', 'w', 'hL'])('Z-I1 but not a cell of %s in a class that is none', (name) => {
    const forged = runSegment(backend, segment.plan, segment.input);
    const cells = forged.witness.get(name);
    if (cells === undefined) return;
    cells[cells.length - 1]! += 1;
    expect(judgeWitness(segment, forged)).toBe('accepted');
  });
});

/** The same of a forged one. */
function judge({ plan, input }: TestSegment, forge: Forgery, recount = true): string {
  const segment = runSegment(backend, plan, input);
  forge(segment);
  if (recount)
    for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  return judgeWitness({ plan, input }, segment);
}

/** A verifier without the constraints that `dropped` picks by their form or by their place. */
function weaken(dropped: (form: LinearForm, place: number) => boolean): void {
  const require = MaskedProtocol.prototype.require;
  vi.spyOn(MaskedProtocol.prototype, 'require').mockImplementation(function (this: MaskedProtocol, form) {
    const key = this as unknown as { place?: number };
    key.place = (key.place ?? -1) + 1;
    if (!dropped(form, key.place)) require.call(this, form);
  });
}

const bump =
  (name: string, by: number, cell = 0): Forgery =>
  ({ witness }) => {
    witness.get(name)![cell]! += by;
  };

/** The fifth constraint: the root of the fraction tree, after four out-of-domain values. */
const rootOfLookups = (_form: LinearForm, place: number): boolean => place === 4;
const names = (form: LinearForm): string[] =>
  form.claims.map(([claim]) => (claim.kind === 'block' ? `${claim.block.tree}.${claim.block.name}` : 'ood'));

describe('a witness with one wrong cell is rejected', () => {
  const committed = [...runSegment(backend, forTwoSteps.plan, forTwoSteps.input).witness.keys()];

  it('covers every block of the step witness but the pads', () => {
    const blocks = forTwoSteps.plan.trees.S.blocks.map(({ name }) => name).filter((name) => name !== 'pad');
    expect([...committed].sort()).toEqual(blocks.sort());
  });

  it.each(committed)('%s', (name) => {
    const isCount = name.startsWith('m') && name !== 'mu';
    expect(judge(forTwoSteps, bump(name, 1), !isCount)).toBe('STEP_FINAL_CHECK');
    expect(judge(forTwoSteps, bump(name, -1), !isCount)).toBe('STEP_FINAL_CHECK');
  });

  it.each<[string, Forgery]>([
    ['a weight after', ({ after }) => void (after.get('W1')![0]! += 1)],
    ['a padded weight after', ({ after }) => void (after.get('W2')![3]! += 1)],
    ['a bias after', ({ after }) => void (after.get('b1')![0]! += 1)],
    ['swapped steps', ({ witness }) => swapHalves(witness.get('A1')!)],
    ['an error on a padded class', ({ witness }) => void (witness.get('GL')![3 * 4] = 1)],
    ['an ε of a neighbour', ({ witness }) => void (witness.get('eps')![0] = witness.get('eps')![1]! + 16)],
  ])('%s', (_name, forge) => {
    expect(judge(forTwoSteps, forge)).toBe('STEP_FINAL_CHECK');
  });
});

function swapHalves(values: Float64Array): void {
  const half = values.length / 2;
  const low = values.slice(0, half);
  values.copyWithin(0, half);
  values.set(low, half);
}

describe('each forgery breaks one constraint, and a verifier without it accepts', () => {
  const shift = forTwoSteps.plan.shape.layers[0]!.forwardShift;

  it.each<[string, Forgery, (form: LinearForm, place: number) => boolean]>([
    [
      'a forward limb out of range, its partner compensating',
      ({ witness }) => {
        witness.get('l1')![0]! += 2 ** (shift - 16);
        witness.get('h1')![0]! -= 1;
      },
      rootOfLookups,
    ],
    ['a multiplicity', ({ witness }) => void (witness.get('mR')![5]! += 1), rootOfLookups],
    ['no selected class', ({ witness }) => void witness.get('sel')!.fill(0), (form) => names(form).join() === 'S.sel'],
    [
      'a bias that did not move',
      ({ witness, after, before }) => {
        after.get('b1')!.set(before.get('b1')!);
        const bits = forTwoSteps.plan.shape.layers[0]!.biasBits;
        witness.set(
          'hb1',
          after.get('b1')!.map((value) => Math.floor(value / 2 ** (bits - 15))),
        );
      },
      (form) => names(form).includes('WT.b1') && form.pads.length === 0,
    ],
  ])('%s', (name, forge, dropped) => {
    const recount = name !== 'a multiplicity';
    expect(judge(forTwoSteps, forge, recount)).toBe('STEP_FINAL_CHECK');
    weaken(dropped);
    expect(judge(forTwoSteps, forge, recount)).toBe('accepted');
  });

  it('weights after that do not follow from the gradients', () => {
    const forge: Forgery = ({ witness, after }) => {
      after.get('W1')![1]! += 7;
      const bits = forTwoSteps.plan.shape.layers[0]!.weightBits;
      witness.set(
        'hW1',
        after.get('W1')!.map((value) => Math.floor(value / 2 ** (bits - 15))),
      );
    };
    expect(judge(forTwoSteps, forge)).toBe('STEP_FINAL_CHECK');
    let total = 0;
    weaken(() => {
      total += 1;
      return false;
    });
    expect(judge(forTwoSteps, () => undefined)).toBe('accepted');
    const perRun = total / 2;
    vi.restoreAllMocks();
    // The last constraint of F5 comes before the three of F6.
    weaken((_form, place) => place === perRun - 4);
    expect(judge(forTwoSteps, forge)).toBe('accepted');
  });

  it('a pad triple that is no product', () => {
    changePads((pads, cells) => {
      const unused = 3 * 2 ** cells.plan.messages.slotVars - 1;
      pads[2 * unused] = 5n;
      cells.block('S', 'pad')[unused] = 5n;
    });
    expect(judge(forTwoSteps, () => undefined)).toBe('STEP_FINAL_CHECK');
  });
});
