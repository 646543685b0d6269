/** F0 to F7: from commitments to one linear claim on the committed data (SPEC §7). */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, utf8 } from '#attestation';
import { extFromDigest } from '../../field/bytes.js';
import type { Ext } from '../../field/extension.js';
import type { DataTree } from '../../relation/blocks.js';
import { constant, minus, ofClaim } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { closeLookups, receiveColumns } from './columns.js';
import { reduceLookups } from './lookups.js';
import { proveMatmuls } from './matmuls.js';
import { combine, provePadProducts, type CombinedClaim } from './pads.js';
import { proveProducts } from './products.js';
import { proveUpdates } from './updates.js';

/** A tree whose out-of-domain value is part of the statement. */
export interface KnownTree {
  readonly tree: DataTree;
  readonly root: Uint8Array;
  readonly ood: Ext;
}

/** Where a long-lived tree is evaluated outside its domain: ext(keccak256("ood" ‖ root)). */
export function oodPoint(root: Uint8Array): Ext {
  return extFromDigest(keccak_256(concatBytes(utf8('ood'), root)));
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
  for (const { tree, root, ood } of known) {
    protocol.require(minus(ofClaim({ kind: 'ood', tree, z: oodPoint(root) }), constant(ood)));
  }
  const z = protocol.challenge('oodS');
  protocol.require(minus(ofClaim({ kind: 'ood', tree: 'S', z }), constant(protocol.receiveClear())));
  const leaf = reduceLookups(protocol);
  const values = receiveColumns(protocol);
  closeLookups(protocol, leaf, values);
  const back = proveProducts(protocol, leaf.point, values);
  const weightClaims = proveMatmuls(protocol, leaf.point, values, back, stepSizes);
  proveUpdates(protocol, leaf.point, weightClaims, stepSizes);
  provePadProducts(protocol);
  return combine(protocol);
}
