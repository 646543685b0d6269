/**
 * What a simulator without a witness is made of (libs/zk/SPEC.md §13.5): uniform messages, rows of noise in the place of every
 * tree, and their opening, moved so that it carries what is claimed.
 */
import { buildTree, encodeMatrix, type OpenableTree } from '../commit/commit.js';
import { extFromDigest } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { inversePowerOfTwo } from '../commit/field/goldilocks.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { randomPerRow } from '../commit/params.js';
import { prfElements } from '../commit/randomness.js';
import type { Backend } from '../prover/backend.js';
import { Cells } from '../prover/cells.js';
import { maskRows } from '../prover/mask.js';
import { openingScript, type OpeningInput } from '../prover/opening-script.js';
import type { Script } from '../prover/sumcheck-script.js';
import type { Plan } from '../relation/plan.js';
import { claimValue, frozenChallenge } from './lies.js';
import { seedOf } from './segments.js';

export class Noise {
  #draws = 0;

  constructor(readonly backend: Backend) {}

  uniform(count: number): BigUint64Array {
    return prfElements(this.backend, seedOf('simulator'), 'simulated', this.#draws++, count);
  }

  element(): Ext {
    const [c0, c1] = this.uniform(2);
    return { c0: c0!, c1: c1! };
  }

  /** Messages without end. */
  *script(): Script {
    for (;;) yield this.element();
  }

  /** @param ood values outside the domain of the trees but S, that nothing stands behind */
  rows<T extends DataTree>(plan: Plan, names: readonly T[], ood: Readonly<Partial<Record<DataTree, readonly Ext[]>>>) {
    const { backend } = this;
    const { profile } = plan;
    const cells = new Cells(plan, backend);
    for (const row of names.flatMap((tree) => plan.trees[tree].globalRows)) {
      cells.row(row)!.set(this.uniform(2 ** profile.m));
    }
    const special = maskRows(backend, plan, seedOf('simulated masks'));
    const treeOf = (tree: T): OpenableTree => {
      const random = this.uniform(plan.trees[tree].rows.length * randomPerRow(profile));
      const [messages, ofRows] =
        tree === 'S'
          ? [[...cells.rows(tree), ...special.messages], BigUint64Array.from([...random, ...special.random])]
          : [cells.rows(tree), random];
      const matrix = encodeMatrix(backend, { messages, random: ofRows }, profile);
      const aux = backend.counterHashes(seedOf(`aux ${tree}`), 0, 2 ** (profile.m + profile.logBlowup));
      const values = ood[tree];
      return {
        matrix,
        tree: buildTree(backend, aux, profile),
        endings: { given: aux },
        ...(values && { ood: values }),
      };
    };
    const trees = Object.fromEntries(names.map((tree) => [tree, treeOf(tree)])) as Record<T, OpenableTree>;
    return { cells, trees, masks: special.masks };
  }
}

/** The opening of noise, u moved so that it carries the claim. */
export function* carriedOpening(given: OpeningInput): Script {
  const { rowVars } = given.cells.plan;
  const missing = F.sub(given.combined.target, claimValue(given.cells.backend, given.cells, given.combined));
  const delta = extFromDigest(frozenChallenge('delta', 0));
  const shift = F.neg(F.mul(delta, F.scale(missing, inversePowerOfTwo(rowVars))));
  let place = 0;
  for (const message of openingScript(given)) yield place++ === 2 * rowVars ? F.add(message, shift) : message;
}
