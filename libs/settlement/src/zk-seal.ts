/** Seals of step proofs as the verifiers on chain take them: contracts/src/verifiers/zk/ZkStep.sol, StepSeal. */
import { AbiCoder, getBytes } from 'ethers';
import { concatBytes } from '#attestation/base';
import { encodeTerms, type StepSpec, type Terms } from '#attestation/records';
import {
  isInTwoParts,
  planBytes,
  splitProof,
  stepBytes,
  type Commitment,
  type Plan,
  type StepProofStatement,
} from '#libs/zk/verifier';
import { checkSealSpec } from './seal-spec.js';
import type { StepSeal } from './split-proofs.js';
import { splitSelector, zkSelector } from './zk-selector.js';

/** Everything that a seal says, before it is bytes. */
interface ZkSealFields {
  /** EIP-712 domain separator of the escrow. */
  readonly domain: Uint8Array;
  /** ABI encoding of the job's Terms. */
  readonly terms: Uint8Array;
  readonly index: number;
  readonly spec: StepSpec;
  readonly before: Commitment;
  readonly afterwards: Commitment;
  readonly data: Commitment;
  readonly dataPath: readonly Uint8Array[];
  /** m_t, one byte per step; of a unit then the superblock that each segment reads, a word each. */
  readonly sizes: Uint8Array;
  readonly plan: Uint8Array;
  readonly proof: Uint8Array;
}

const commitment = 'tuple(bytes32 root,bytes32 ood)';
const stepSpec =
  'tuple(bytes32 jobSpec,bytes32 manifestDigest,bytes32 datasetRoot,bytes32 seed,uint256 steps,uint256 recordCount,uint256[] schedule)';
const sealType =
  `tuple(bytes32 domain,bytes terms,uint256 index,${stepSpec} spec,${commitment} before,${commitment} afterwards,` +
  `${commitment} data,bytes32[] dataPath,bytes sizes,bytes plan,bytes proof)`;

function encodeZkSeal(selector: Uint8Array, fields: ZkSealFields): Uint8Array {
  return concatBytes(selector, getBytes(AbiCoder.defaultAbiCoder().encode([sealType], [fields])));
}

/** What one proved segment of a job is discharged with. */
interface ProvedSegment {
  readonly statement: Pick<StepProofStatement, 'index' | 'data' | 'dataPath' | 'before' | 'after'>;
  readonly plan: Plan;
  readonly proof: Uint8Array;
}

/**
 * @param domain  EIP-712 domain separator of the escrow
 * @throws Rejection SEAL_SPEC when the terms are of another spec or another plan: the chain would refuse the seal
 */
export function zkSealOf(domain: Uint8Array, terms: Terms, spec: StepSpec, segment: ProvedSegment): Uint8Array {
  return sealUnder(zkSelector, domain, terms, spec, segment);
}

/**
 * The same for whichever verifier takes proofs under the plan: one that needs two transactions is cut.
 *
 * @throws Rejection SEAL_SPEC, STEP_* of a proof that does not hold and would have to be cut
 */
export function stepSealOf(
  domain: Uint8Array,
  terms: Terms,
  spec: StepSpec,
  { statement, plan, proof }: ProvedSegment & { readonly statement: StepProofStatement },
): StepSeal {
  if (!isInTwoParts(plan.profile)) return zkSealOf(domain, terms, spec, { statement, plan, proof });
  const { head, rest, openings } = splitProof(plan, statement, proof);
  const seal = sealUnder(splitSelector, domain, terms, spec, { statement, plan, proof: head });
  return { digest: statement.outerDigest, head: seal, rest, openings };
}

const zero = new Uint8Array(32);
const uncommitted: Commitment = { root: zero, ood: zero };
const unspecified: StepSpec = {
  ...{ jobSpec: zero, manifestDigest: zero, datasetRoot: zero, seed: zero },
  ...{ steps: 0, recordCount: 0, schedule: [] },
};

/** A seal that has its plan and nothing else: a verifier that takes the plan refuses it as being of another statement. */
export function planSealOf(plan: Plan): Uint8Array {
  const none = new Uint8Array();
  return encodeZkSeal(isInTwoParts(plan.profile) ? splitSelector : zkSelector, {
    ...{ domain: zero, terms: none, index: 0, spec: unspecified },
    ...{ before: uncommitted, afterwards: uncommitted, data: uncommitted },
    ...{ dataPath: [], sizes: none, plan: planBytes(plan), proof: none },
  });
}

function sealUnder(
  selector: Uint8Array,
  domain: Uint8Array,
  terms: Terms,
  spec: StepSpec,
  { statement, plan, proof }: ProvedSegment,
): Uint8Array {
  const { index, before, after, data, dataPath } = statement;
  checkSealSpec(terms, spec, plan.digest);
  return encodeZkSeal(selector, {
    ...{ domain, terms: encodeTerms(terms), index, spec },
    ...{ before, afterwards: after, data, dataPath },
    sizes: stepBytes(plan, index, spec.recordCount),
    plan: planBytes(plan),
    proof,
  });
}
