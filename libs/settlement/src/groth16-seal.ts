/** Seals of Groth16 proofs as the verifier on chain takes them: contracts/src/verifiers/groth16, Groth16Seal. */
import { AbiCoder, getBytes } from 'ethers';
import { concatBytes } from '#attestation/base';
import { encodeTerms, type StepSpec, type Terms } from '#attestation/records';
import { groth16Selector, type Groth16Segment } from '#libs/zk/verifier';
import { checkSealSpec } from './seal-spec.js';

/** Everything that a seal says, before it is bytes. */
export interface Groth16SealFields {
  /** EIP-712 domain separator of the escrow. */
  readonly domain: Uint8Array;
  /** ABI encoding of the job's Terms. */
  readonly terms: Uint8Array;
  readonly index: number;
  readonly spec: StepSpec;
  /** Digest of circuit and key; the terms' specDigest holds it. */
  readonly plan: Uint8Array;
  readonly before: Uint8Array;
  readonly afterwards: Uint8Array;
  readonly data: Uint8Array;
  readonly dataPath: readonly Uint8Array[];
  /** Eight words. */
  readonly proof: readonly Uint8Array[];
}

const spec =
  'tuple(bytes32 jobSpec,bytes32 manifestDigest,bytes32 datasetRoot,bytes32 seed,uint256 steps,uint256 recordCount,uint256[] schedule)';
const sealType =
  `tuple(bytes32 domain,bytes terms,uint256 index,${spec} spec,bytes32 plan,bytes32 before,bytes32 afterwards,` +
  'bytes32 data,bytes32[] dataPath,bytes32[8] proof)';

export function encodeGroth16Seal(fields: Groth16SealFields): Uint8Array {
  return concatBytes(groth16Selector, getBytes(AbiCoder.defaultAbiCoder().encode([sealType], [fields])));
}

type ProvedGroth16 = Pick<Groth16Segment, 'index' | 'before' | 'after' | 'data' | 'dataPath'>;

/**
 * @param domain EIP-712 domain separator of the escrow
 * @param plan   groth16PlanDigest of circuit and key
 * @throws Rejection SEAL_SPEC when the terms are of another spec or another key: the chain would refuse the seal
 */
export function groth16SealOf(
  domain: Uint8Array,
  terms: Terms,
  spec: StepSpec,
  plan: Uint8Array,
  { index, before, after, data, dataPath }: ProvedGroth16,
  proof: Uint8Array,
): Uint8Array {
  checkSealSpec(terms, spec, plan);
  return encodeGroth16Seal({
    ...{ domain, terms: encodeTerms(terms), index, spec, plan, before, afterwards: after },
    ...{ data, dataPath, proof: wordsOf(proof) },
  });
}

function wordsOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(32 * i, 32 * i + 32));
}
