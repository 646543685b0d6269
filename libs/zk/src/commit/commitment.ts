/** Commitments to weights and records in scheme `fxt-zk/1`, and the words that stand for them (libs/zk/SPEC.md §2.1). */
import { taggedDigest } from '#attestation/base';
import { weightsDigest } from '#attestation/records';
import type { Ext } from './field/extension.js';
import { P } from './field/goldilocks.js';
import { refuse } from './layout/refuse.js';
import type { Shape } from './layout/shape.js';
import { dataLayout, layoutDigest, weightLayout } from './layout/tree-layout.js';
import type { Profile } from './params.js';

/** Root of a committed matrix and the word that stands for its out-of-domain values (layout/ood.ts). */
export interface Commitment {
  readonly root: Uint8Array;
  readonly ood: Uint8Array;
}

/** What the bytes of a commitment depend on. */
export interface Format {
  readonly shape: Shape;
  readonly profile: Profile;
}

export const commitmentSchemeId = 'fxt-zk/1';

/** The 32 bytes that stand for a weight commitment in statements and receipts. */
export function weightsDigestOf(commitment: Commitment, format: Format): Uint8Array {
  const { root, ood } = checkCommitment(commitment, format.profile);
  return weightsDigest({ scheme: commitmentSchemeId, root, ood, layoutDigest: layoutDigests(format).weights });
}

/** The 32 bytes that stand for a data commitment in the data set's tree. */
export function dataDigestOf(commitment: Commitment, format: Format): Uint8Array {
  const { root, ood } = checkCommitment(commitment, format.profile);
  return taggedDigest('fxt-data/1', root, ood, layoutDigests(format).data);
}

interface LayoutDigests {
  readonly weights: Uint8Array;
  readonly data: Uint8Array;
}

const knownLayouts = new WeakMap<Format['shape'], WeakMap<Format['profile'], LayoutDigests>>();

function layoutDigests({ shape, profile }: Format): LayoutDigests {
  const ofShape = knownLayouts.get(shape) ?? new WeakMap<Format['profile'], LayoutDigests>();
  knownLayouts.set(shape, ofShape);
  const digests = ofShape.get(profile) ?? {
    weights: layoutDigest(weightLayout(shape, profile), shape, profile),
    data: layoutDigest(dataLayout(shape, profile), shape, profile),
  };
  ofShape.set(profile, digests);
  return digests;
}

/** The value that is a word itself. @throws Rejection STEP_STATEMENT */
export function oodValue(commitment: Commitment): Ext {
  const view = new DataView(commitment.ood.buffer, commitment.ood.byteOffset, 32);
  const half = (at: number): bigint => (view.getBigUint64(at) << 64n) | view.getBigUint64(at + 8);
  const [c0, c1] = [half(0), half(16)];
  if (c0 >= P || c1 >= P)
    refuse('STEP_STATEMENT', 'a canonical out-of-domain value', `${c0}, ${c1}`, 'libs/zk/SPEC.md §2.1');
  return { c0, c1 };
}

function checkCommitment(commitment: Commitment, { oodPoints }: Profile): Commitment {
  requireDigest(commitment.root);
  requireDigest(commitment.ood);
  if (oodPoints === 1) oodValue(commitment);
  return commitment;
}

export function requireDigest(bytes: Uint8Array): void {
  if (bytes.length !== 32) refuse('STEP_STATEMENT', '32 bytes', `${bytes.length} bytes`, 'libs/zk/SPEC.md §2.2');
}
