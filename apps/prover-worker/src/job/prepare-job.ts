/** What a client fixes before a proved job: commitments to the whole data set and to the start weights. */
import { commitData, commitWeights, type Backend } from '#libs/zk';
import { dataDigestOf, weightsDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';
import { datasetRoot, initialWeights, orderSize, type Examples } from '#libs/step';
import { slice } from '../proving/records.js';
import { dataSeedOf } from './secrets.js';

export interface PreparedJob {
  readonly root: Uint8Array;
  /** Records that the root covers. */
  readonly records: number;
  readonly data: readonly Commitment[];
  readonly genesis: Commitment;
  /** weightsDigest of the start: border 0 of the escrow. */
  readonly genesisDigest: Uint8Array;
}

/**
 * @param dataSecret, weightSeed 32 secret bytes each; whoever proves needs both
 * @throws Rejection ORDER_TOO_FEW_RECORDS; ConfigurationError ZK_MEMORY_EXCEEDED
 */
export function prepareJob(
  backend: Backend,
  plan: Plan,
  examples: Examples,
  dataSecret: Uint8Array,
  weightSeed: Uint8Array,
  onProgress: (done: number, of: number) => void,
): PreparedJob {
  const { manifest } = plan.shape;
  const { superblocks } = orderSize(manifest, examples.count);
  const size = manifest.superblock * manifest.batch;
  const data = Array.from({ length: superblocks }, (_, index): Commitment => {
    onProgress(index, superblocks);
    const records = slice(manifest, examples, index * size, size);
    return commitData(backend, plan, records, dataSeedOf(dataSecret, index)).commitment;
  });
  const genesis = commitWeights(backend, plan, initialWeights(manifest), weightSeed).commitment;
  return {
    root: datasetRoot(data.map((commitment) => dataDigestOf(commitment, plan))),
    records: superblocks * size,
    data,
    genesis,
    genesisDigest: weightsDigestOf(genesis, plan),
  };
}
