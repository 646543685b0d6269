/**
 * Forgers of proofs of several segments: weights that change between two segments, an end that is another's, records of
 * another superblock, borders out of range. Each is refused, and accepted by a verifier without the one check that stops it.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { add } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { runFlow, verdict, withoutConstraints, type Forgery } from '../testing/lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import * as borders from '../verifier/flow/borders.js';
import * as superblocks from '../verifier/flow/superblocks.js';
import * as statement from '../verifier/statement.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { countLookups } from './multiplicities.js';
import { runSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3, unitSteps: 8 };
/** Four segments of two steps, in which both pieces of the classes have a largest logit somewhere. */
const manifest = testManifest({ dims: [3, 4, 3], superblock: 2, seed: `0x${'55'.repeat(32)}` });
const unit = testSegment(backend, { manifest, profile, variant: 'separate' });
const { plan, input } = unit;
const layers = 2;

afterEach(() => vi.restoreAllMocks());

/** The kernels' update of a layer adds 1 to one weight of layer 1 after so many steps. */
function movedAfter(count: number): void {
  const subtract = backend.subtractOuter.bind(backend);
  let calls = 0;
  vi.spyOn(backend, 'subtractOuter').mockImplementation((...given) => {
    subtract(...given);
    if (calls++ === count * layers - layers) given[6].data[0]! += 1;
  });
}

/** Place of a constraint, from the last of the flow's own backwards: three of the pad products follow. */
const events = runFlow(backend, unit).events;
const last = events.flatMap((event) => (event.kind === 'constraint' ? [event.place] : [])).at(-1)! - 3;

const recounted =
  (forge: Forgery): Forgery =>
  (segment) => {
    forge(segment);
    for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  };

describe('a unit is accepted as it is', () => {
  it('and every block of its witness is known', () => {
    expect(verdict(backend, unit)).toBe('accepted');
    const names = plan.trees.S.blocks.map(({ name }) => name).filter((name) => name !== 'pad');
    expect([...runSegment(backend, plan, input).witness.keys()].sort()).toEqual(names.sort());
    expect(names).toContain('Wn1');
  });
});

describe('a unit is refused', () => {
  const names = plan.trees.S.blocks.map(({ name }) => name).filter((name) => name !== 'pad');

  it.each(names)('with one cell of %s changed', (name) => {
    const key = mask.proverKey;
    vi.spyOn(mask, 'proverKey').mockImplementation((secret, statement, own, cells, known) => {
      const block = cells.block('S', name);
      block[1] = add(block[1]!, 2n ** 63n);
      return key(secret, statement, own, cells, known);
    });
    expect(verdict(backend, unit)).toBe('STEP_FINAL_CHECK');
  });

  it.each([2, 4, 6])('when a weight moves between steps %i and the next, where segments meet', (count) => {
    movedAfter(count);
    expect(verdict(backend, unit)).toBe('STEP_FINAL_CHECK');
    vi.restoreAllMocks();
    movedAfter(count);
    const undo = withoutConstraints(last);
    expect(verdict(backend, unit)).toBe('accepted');
    undo();
  });

  it('when a weight moves inside a segment', () => {
    movedAfter(3);
    expect(verdict(backend, unit)).toBe('STEP_FINAL_CHECK');
  });

  it.each([
    ['W1', 1],
    ['b2', 0],
  ])('when it ends in other weights than its last segment: %s', (name, cell) => {
    const forge: Forgery = ({ after }) => {
      after.get(name)![cell]! += 1;
    };
    const other = testSegment(backend, { manifest, profile, variant: 'joint' });
    expect(verdict(backend, other, new Map(), forge)).toBe('STEP_FINAL_CHECK');
    vi.spyOn(borders, 'requireEnd').mockReturnValue(undefined);
    expect(verdict(backend, other, new Map(), forge)).toBe('accepted');
  });

  it('when a segment reads another superblock than the order names', () => {
    const { superblocksOf } = statement;
    vi.spyOn(statement, 'superblocksOf').mockImplementation((...of) => {
      const due = superblocksOf(...of);
      return [...due.slice(0, -1), due[0]!];
    });
    expect(verdict(backend, unit)).toBe('STEP_FINAL_CHECK');
    const batchAxis = superblocks.batchAxis;
    vi.spyOn(superblocks, 'batchAxis').mockImplementation(({ plan: own, superblocks: due }, step) =>
      batchAxis({ plan: own, superblocks: [...due.slice(0, -1), due[0]!] }, step),
    );
    expect(verdict(backend, unit)).toBe('accepted');
  });

  it('when a limb at an inner border is beyond its range', () => {
    const forge = recounted(({ witness }) => {
      const [limbs, ends] = [witness.get('hW1')!, witness.get('Wn1')!];
      const at = ends.findIndex((value) => value !== 0);
      limbs[at]! += 1;
    });
    expect(verdict(backend, unit, new Map(), forge)).toBe('STEP_FINAL_CHECK');
  });

  it('by a verifier whose updates reach over borders', () => {
    const updateWeights = borders.updateWeights;
    vi.spyOn(borders, 'updateWeights').mockImplementation((shape, point, sizes) =>
      updateWeights({ ...shape, segmentVars: 0 }, point, sizes),
    );
    expect(verdict(backend, unit)).toBe('STEP_FINAL_CHECK');
  });
});
