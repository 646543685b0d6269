/** F0 to F7: from commitments to one linear claim on the committed data (libs/zk/SPEC.md §7). */
import type { Ext } from '../../commit/field/extension.js';
import type { DataTree } from '../../commit/layout/blocks.js';
import { oodPoints } from '../../commit/layout/ood.js';
import { constant, minus, ofClaim } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { closeLookups, receiveColumns } from './columns.js';
import { reduceLookups } from './lookups.js';
import { proveMatmuls } from './matmuls.js';
import { combine, provePadProducts, type CombinedClaim } from './pads.js';
import { proveProducts } from './products.js';
import { proveUpdates } from './updates.js';

/** A tree whose out-of-domain values are fixed by the statement. */
export interface KnownTree {
  readonly tree: DataTree;
  readonly root: Uint8Array;
  readonly ood: readonly Ext[];
}

/**
 * @param stepSizes m_t of the segment's steps
 * @param known     W0, WT and D, in this order
 */
export function reduceToOneClaim(
  protocol: MaskedProtocol,
  known: readonly KnownTree[],
  stepSizes: readonly number[],
): CombinedClaim {
  requireTrees(protocol, known);
  const leaf = reduceLookups(protocol);
  const values = receiveColumns(protocol);
  closeLookups(protocol, leaf, values);
  const back = proveProducts(protocol, leaf.point, values);
  const weightClaims = proveMatmuls(protocol, leaf.point, values, back, stepSizes);
  proveUpdates(protocol, leaf.point, weightClaims, stepSizes);
  provePadProducts(protocol);
  return combine(protocol);
}

/** F0. */
export function requireTrees(protocol: MaskedProtocol, known: readonly KnownTree[]): void {
  for (const { tree, root, ood } of known) {
    oodPoints(root, ood.length).forEach((z, k) => requireValue(protocol, tree, z, ood[k]!));
  }
  const points = Array.from({ length: protocol.plan.profile.oodPoints }, () => protocol.challenge('oodS'));
  for (const z of points) requireValue(protocol, 'S', z, protocol.receiveClear());
}

function requireValue(protocol: MaskedProtocol, tree: DataTree, z: Ext, value: Ext): void {
  protocol.require(minus(ofClaim({ kind: 'ood', tree, z }), constant(value)));
}
