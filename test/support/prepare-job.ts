/** What a client fixes before a job on plain files that is proved in a joint chain: commitments to data and start weights. */
import { concatBytes, keccak, utf8, word } from '#attestation/base';
import { datasetRoot, initialWeights, orderSize, sliceExamples, type Examples } from '#libs/step';
import { commitData, commitWeights, type Backend } from '#libs/zk';
import { dataDigestOf, startSeed, weightsDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';

export interface PreparedData {
  readonly root: Uint8Array;
  /** Records that the root covers. */
  readonly records: number;
  readonly data: readonly Commitment[];
}

/**
 * @param dataSecret 32 secret bytes; whoever proves needs them
 * @throws Rejection ORDER_TOO_FEW_RECORDS; ConfigurationError ZK_MEMORY_EXCEEDED
 */
export function prepareData(backend: Backend, plan: Plan, examples: Examples, dataSecret: Uint8Array): PreparedData {
  const { manifest } = plan.shape;
  const { superblocks } = orderSize(manifest, examples.count);
  const size = manifest.superblock * manifest.batch;
  const data = Array.from({ length: superblocks }, (_, index): Commitment => {
    const records = sliceExamples(manifest, examples, index * size, size);
    return commitData(backend, plan, records, dataSeedOf(dataSecret, index)).commitment;
  });
  return {
    root: datasetRoot(data.map((commitment) => dataDigestOf(commitment, plan))),
    records: superblocks * size,
    data,
  };
}

export interface Genesis {
  readonly genesis: Commitment;
  /** weightsDigest of the start: border 0 of the escrow. */
  readonly genesisDigest: Uint8Array;
}

/** Commitment to the initial weights under their public seed: the start that anybody recognises. */
export function genesisOf(backend: Backend, plan: Plan): Genesis {
  const { manifest } = plan.shape;
  const mark = backend.mark();
  const { commitment } = commitWeights(backend, plan, initialWeights(manifest), startSeed(manifest));
  backend.release(mark);
  return { genesis: commitment, genesisDigest: weightsDigestOf(commitment, plan) };
}

/** Seed of a superblock's commitment, for whoever holds the secret. */
export function dataSeedOf(secret: Uint8Array, superblock: number): Uint8Array {
  return keccak(concatBytes(utf8('veritrain/prover/data'), secret, word(superblock)));
}
