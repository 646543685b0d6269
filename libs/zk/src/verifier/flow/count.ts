/** F0 to F7 of a statement about a set of records: a forward pass, and how many it classes right (libs/zk/SPEC.md §21). */
import * as F from '../../commit/field/extension.js';
import { integer, minus } from '../linear-form.js';
import { realClasses } from '../losses/loss.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { closeLookups, receiveColumns } from './columns.js';
import { requireTrees, type KnownTree } from './flow.js';
import { reduceLookups } from './lookups.js';
import { proveMatmuls } from './matmuls.js';
import { combine, provePadProducts, type CombinedClaim } from './pads.js';
import { proveProducts } from './products.js';
import { realSamples } from './tensors.js';

/**
 * @param known   W0 and D, in this order
 * @param correct k
 */
export function reduceCount(protocol: MaskedProtocol, known: readonly KnownTree[], correct: number): CombinedClaim {
  requireTrees(protocol, known);
  const leaf = reduceLookups(protocol);
  const values = receiveColumns(protocol);
  closeLookups(protocol, leaf, values);
  proveProducts(protocol, leaf.point, values);
  proveMatmuls(protocol, leaf.point, values, [], [0]);
  requireCount(protocol, correct);
  provePadProducts(protocol);
  return combine(protocol);
}

/** Σ sel = k over the real classes of the real records. */
function requireCount(protocol: MaskedProtocol, correct: number): void {
  const { shape } = protocol.plan;
  const samples = realSamples(shape) ?? new Array<F.Ext>(shape.samples).fill(F.ONE);
  const selected = protocol.cell('S', 'sel', { weights: realClasses(shape) }, { point: [] }, { weights: samples });
  protocol.require(minus(selected, integer(correct)));
}
