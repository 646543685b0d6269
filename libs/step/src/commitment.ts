/** Commitments to weights and data by scheme id (libs/step/SPEC.md §17). Another scheme is another row of the table. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, uintBe, utf8 } from '#attestation/base';
import { type WeightCommitment } from '#attestation/records';
import { canonicalJson } from './canonical-json.js';
import { refuse } from './errors.js';
import type { JobManifest } from './job-manifest.js';
import type { HashParts, Weights } from './tensors.js';
import { borderShapes, stateDigest } from './weights.js';

export interface CommitmentScheme {
  readonly id: string;
  commitWeights(m: JobManifest, weights: Weights, hashParts?: HashParts): WeightCommitment;
  /** Digest of the records of superblock `index`; 32 bytes. */
  dataDigest(index: number, records: Uint8Array): Promise<Uint8Array>;
}

/** Plain hashes: opens only by showing everything. The root of the weights is their state digest. */
export const stateKeccak: CommitmentScheme = {
  id: 'state-keccak',
  commitWeights: (m, weights, hashParts) => ({
    scheme: 'state-keccak',
    root: stateDigest(m, weights, hashParts),
    ood: new Uint8Array(32),
    layoutDigest: keccak_256(
      concatBytes(
        utf8('veritrain/layout/state-keccak/v1'),
        utf8(canonicalJson(borderShapes(m).map(({ name, dims }) => ({ name, dims })))),
      ),
    ),
  }),
  dataDigest: async (index, records) => {
    const bulk = await crypto.subtle.digest('SHA-256', records.slice());
    const tag = keccak_256(utf8('fxt-data/state-keccak/v1'));
    return keccak_256(concatBytes(tag, uintBe(index, 8), new Uint8Array(bulk)));
  },
};

const schemes: Readonly<Record<string, CommitmentScheme>> = { [stateKeccak.id]: stateKeccak };

/** @throws Rejection COMMITMENT_SCHEME for an id that this version does not know */
export function commitmentScheme(id: string): CommitmentScheme {
  const scheme = Object.hasOwn(schemes, id) ? schemes[id] : undefined;
  return scheme ?? refuse('COMMITMENT_SCHEME', Object.keys(schemes).join(' or '), id, 'libs/step/SPEC.md §17');
}

/** @param hashParts as `stateDigest` @throws Rejection COMMITMENT_SCHEME, WEIGHTS_SHAPE */
export function commitWeights(
  scheme: string,
  m: JobManifest,
  weights: Weights,
  hashParts?: HashParts,
): WeightCommitment {
  return commitmentScheme(scheme).commitWeights(m, weights, hashParts);
}

/** @throws Rejection COMMITMENT_SCHEME */
export async function dataDigest(scheme: string, index: number, records: Uint8Array): Promise<Uint8Array> {
  return commitmentScheme(scheme).dataDigest(index, records);
}
