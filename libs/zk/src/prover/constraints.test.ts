/**
 * Every constraint of the protocol, one after the other: a prover breaks this one and no other. The verifier rejects;
 * a verifier without the constraint accepts. The constraints are read off a run, so none can be left out.
 */
import { describe, expect, it, vi } from 'vitest';
import { datasetRoot, merklePath, superblockOfStep } from '#libs/step';
import * as commit from '../commit/commit.js';
import type { OpenableCommitment } from '../commit/commit.js';
import { dataDigestOf } from '../commit/commitment.js';
import { extWord } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import { createEngine } from '../commit/kernels/index.js';
import { runFlow, verdict, withoutConstraints, type Forgery, type Lies } from '../testing/lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import { commitData, commitWeights } from './commitments.js';
import { KernelBackend } from './kernel-backend.js';
import { countLookups } from './multiplicities.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
/** Of a job in which both pieces of the classes have a largest logit somewhere: no factor is all zero. */
const seed = `0x${'55'.repeat(32)}`;
const segment = testSegment(backend, { manifest: testManifest({ dims: [3, 4, 3], superblock: 2, seed }), profile });
const { plan } = segment;
const [steps, batch] = [2, 2];
const honest = runFlow(backend, segment);

/** A sumcheck or the masked root, the products behind it with the places of their definitions, and the identity. */
interface Reduction {
  /** A message that may lie freely before the products. */
  readonly lie: number;
  /** [message, place] of every factor that has a definition. */
  readonly factors: readonly (readonly [number, number])[];
  readonly identity: number;
}

/** Messages of the column values that every layer's sumcheck is followed by, per the events of the honest run. */
function reductions(): Reduction[] {
  const found: Reduction[] = [];
  let lie: number | undefined;
  let factors: [number, number][] = [];
  let pending: number[] = [];
  for (const event of honest.events) {
    if (event.kind === 'sumcheck') {
      // Without rounds the claim itself is the message before.
      lie = event.rounds > 0 ? event.message + 2 * event.rounds - 2 : event.message - 1;
      factors = [];
    } else if (event.kind === 'product') {
      pending = event.defined.flatMap((isDefined, k) => (isDefined ? [event.message + k] : []));
    } else if (event.kind === 'constraint' && lie !== undefined) {
      const message = pending.shift();
      if (message !== undefined) factors.push([message, event.place]);
      else {
        found.push({ lie, factors, identity: event.place });
        lie = undefined;
      }
    }
  }
  return found;
}

const all = reductions();
const padProducts = all.at(-1)!;
const identities = all.slice(0, -1);

describe('the constraints', () => {
  it('are those that the plan counts', () => {
    const places = honest.events.flatMap((event) => (event.kind === 'constraint' ? [event.place] : []));
    expect(places).toEqual(Array.from({ length: plan.messages.constraints }, (_, k) => k));
    expect(identities.length).toBe(plan.lookups.vars + 3);
  });

  it('hold for an honest prover, one and all', () => {
    const { values, combined } = runFlow(backend, segment, { places: [...Array(plan.messages.constraints).keys()] });
    expect([...values.values()].filter((value) => !F.equal(value, F.ZERO))).toEqual([]);
    expect(combined).toEqual(F.ZERO);
  });
});

/** Rejected as it is, accepted without the constraint. */
function expectNeeded(place: number, lies: Lies, forge?: Forgery, under = segment): void {
  expect(verdict(backend, under, lies, forge)).toBe('STEP_FINAL_CHECK');
  const undo = withoutConstraints(place);
  try {
    expect(verdict(backend, under, lies, forge)).toBe('accepted');
  } finally {
    undo();
  }
}

describe('a false message of a sumcheck', () => {
  it.each(identities.map(({ lie, identity }) => [identity, lie] as const))(
    'is caught by constraint %i alone',
    (identity, lie) => expectNeeded(identity, new Map([[lie, F.ONE]])),
  );
});

describe('a false factor that makes up for a false message', () => {
  const factors = all.flatMap(({ lie, identity, factors: own }) =>
    own.map(([message, place]) => [place, message, lie, identity] as const),
  );

  it.each(factors)('is caught by its definition, constraint %i, alone', (place, message, lie, identity) => {
    const errorWith = (shift: F.Ext): F.Ext =>
      runFlow(backend, segment, {
        lies: new Map([
          [lie, F.ONE],
          [message, shift],
        ]),
        places: [identity],
      }).values.get(identity)!;
    const start = errorWith(F.ZERO);
    const slope = F.sub(errorWith(F.ONE), start);
    const shift = F.neg(F.mul(start, F.inverse(slope)));
    expectNeeded(
      place,
      new Map([
        [lie, F.ONE],
        [message, shift],
      ]),
    );
  });
});

describe('false values of the pad products', () => {
  const [a, b, product] = [padProducts.identity, padProducts.identity + 1, padProducts.identity + 2];

  it('are caught by the product', () => expectNeeded(product, new Map([[padProducts.lie, F.ONE]])));

  it.each([
    ['A', a, 2],
    ['B', b, 3],
  ])('are caught by %s', (_name, place, offset) => {
    const message = padProducts.lie + offset;
    const errorWith = (shift: F.Ext): F.Ext =>
      runFlow(backend, segment, {
        lies: new Map([
          [padProducts.lie, F.ONE],
          [message, shift],
        ]),
        places: [product],
      }).values.get(product)!;
    const start = errorWith(F.ZERO);
    const shift = F.neg(F.mul(start, F.inverse(F.sub(errorWith(F.ONE), start))));
    expectNeeded(
      place,
      new Map([
        [padProducts.lie, F.ONE],
        [message, shift],
      ]),
    );
  });
});

describe('facts without a product', () => {
  const recounted =
    (forge: Forgery): Forgery =>
    (witness) => {
      forge(witness);
      for (const [name, counts] of countLookups(backend, plan.shape, witness)) witness.witness.set(name, counts);
    };
  const covered = new Set([
    ...identities.map(({ identity }) => identity),
    ...all.flatMap(({ factors }) => factors.map(([, place]) => place)),
    ...[0, 1, 2].map((k) => padProducts.identity + k),
  ]);
  const rest = [...Array(plan.messages.constraints).keys()].filter((place) => !covered.has(place));

  it('are the out-of-domain values, the selectors, the gap and the biases', () => {
    expect(rest.length).toBe(4 + 1 + plan.shape.gaps.length + plan.shape.layers.length);
    expect(rest.slice(0, 4)).toEqual([0, 1, 2, 3]);
  });

  describe('the value outside the domain', () => {
    const value = { c0: 5n, c1: 7n };
    const another = (opened: OpenableCommitment): OpenableCommitment => ({
      ...opened,
      ood: [value],
      commitment: { root: opened.commitment.root, ood: extWord(value) },
    });
    const { input } = segment;
    const { weights, seed: weightSeed } = input.before;

    it('of the weights before', () => {
      const opened = another(commitWeights(backend, plan, weights, weightSeed));
      const statement = { ...input.statement, before: opened.commitment };
      const changed = { plan, input: { ...input, statement, before: { ...input.before, opened } } };
      expectNeeded(0, new Map(), undefined, changed);
    });

    it('of the weights after', () => {
      const honestCommit = commit.commitRows;
      vi.spyOn(commit, 'commitRows').mockImplementation((engine, layout, ...given) => {
        const opened = honestCommit(engine, layout, ...given);
        return layout.tree === 'WT' ? another(opened) : opened;
      });
      expectNeeded(1, new Map());
      vi.restoreAllMocks();
    });

    it('of the data', () => {
      const opened = another(commitData(backend, plan, input.examples, input.dataSeed));
      const digest = dataDigestOf(opened.commitment, plan);
      const statement = {
        ...input.statement,
        data: opened.commitment,
        datasetRoot: datasetRoot([digest, digest, digest]),
        dataPath: merklePath([digest, digest, digest], superblockOfStep(plan.shape.manifest, 0, 12)),
      };
      expectNeeded(2, new Map(), undefined, { plan, input: { ...input, statement, openedData: opened } });
    });
  });

  it('the value of the witness outside the domain', () => expectNeeded(3, new Map([[0, F.ONE]])));

  it('the selectors', () => {
    expectNeeded(
      rest[4]!,
      new Map(),
      recounted(({ witness }) => void witness.get('sel')!.fill(0)),
    );
  });

  it('the errors of padded classes', () => {
    const gap = 3 * steps * batch;
    const forge = recounted(({ witness, after, data }) => {
      witness.get('GL')![gap] = 1;
      const [A, W2, b2] = [witness.get('A1')!, after.get('W2')!, after.get('b2')!];
      for (let unit = 0; unit < 4; unit++) W2[4 * unit + 3]! -= A[batch * unit]!;
      b2[3]! -= 1;
      expect(data.get('Y')![gap]).toBe(0);
      border(witness, after);
    });
    expectNeeded(rest[5]!, new Map(), forge);
  });

  it.each([1, 2])('the biases of layer %i', (layer) => {
    const forge = recounted(({ witness, after, before }) => {
      after.get(`b${layer}`)!.set(before.get(`b${layer}`)!);
      border(witness, after);
    });
    // The bias of the second step is of the first's errors: only the border is forged here.
    expectNeeded(rest[5 + layer]!, new Map(), forge);
  });

  function border(witness: Map<string, Float64Array>, after: Map<string, Float64Array>): void {
    for (const { layer, weightBits, biasBits } of plan.shape.layers) {
      const high = (name: string, bits: number) =>
        after.get(name)!.map((value) => Math.floor(value / 2 ** (bits - 15)));
      witness.set(`hW${layer}`, high(`W${layer}`, weightBits));
      witness.set(`hb${layer}`, high(`b${layer}`, biasBits));
    }
  }
});
