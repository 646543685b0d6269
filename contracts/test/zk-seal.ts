/** Seals of step proofs as ZkStepVerifier takes them, for segments made by the test prover. */
import { AbiCoder, id, keccak256, solidityPackedKeccak256 } from 'ethers';
import { fromHex } from '#attestation/base';
import { encodeTerms, escrowIdOf, segmentDigest } from '#attestation/records';
import { manifestDigest } from '#libs/step';
import { proveSegment, type Backend } from '#libs/zk';
import { planBytes, stepBytes, weightsDigestOf, type Plan, type StepProofStatement } from '#libs/zk/verifier';
import { testSegment, type SegmentChoice } from '../../libs/zk/src/testing/segments.js';
import { domain, fill, sealTerms } from './seal-terms.js';

export const selector = id('veritrain/zk/fxt-zk/1').slice(0, 10);
/** Of proofs in two parts: ZkSplitVerifier. */
export const splitSelector = id('veritrain/zk/fxt-zk/1/split').slice(0, 10);
const coder = AbiCoder.defaultAbiCoder();

const commitment = 'tuple(bytes32 root,bytes32 ood)';
const spec =
  'tuple(bytes32 jobSpec,bytes32 manifestDigest,bytes32 datasetRoot,bytes32 seed,uint256 steps,uint256 recordCount,uint256[] schedule)';
const sealType =
  `tuple(bytes32 domain,bytes terms,uint256 index,${spec} spec,${commitment} before,${commitment} afterwards,` +
  `${commitment} data,bytes32[] dataPath,bytes sizes,bytes plan,bytes proof)`;

/** Everything that a seal says, before it is bytes. */
export interface SealFields {
  readonly domain: Uint8Array;
  readonly terms: Uint8Array;
  readonly index: number;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly before: { root: Uint8Array; ood: Uint8Array };
  readonly afterwards: { root: Uint8Array; ood: Uint8Array };
  readonly data: { root: Uint8Array; ood: Uint8Array };
  readonly dataPath: readonly Uint8Array[];
  readonly sizes: Uint8Array;
  readonly plan: Uint8Array;
  readonly proof: Uint8Array;
}

export interface SealedSegment {
  readonly plan: Plan;
  readonly statement: StepProofStatement;
  readonly fields: SealFields;
  /** EIP-712 digest of the Segment. */
  readonly digest: Uint8Array;
}

export function encodeSeal(fields: SealFields, ofVerifier = selector): string {
  const withoutProof = coder.encode([sealType], [{ ...fields, proof: '0x' }]);
  return ofVerifier + withLastBytes(withoutProof, Buffer.from(fields.proof).toString('hex')).slice(2);
}

/**
 * An ABI encoding whose last member is of no bytes, with these: the library's encoder takes 60 ms for each 100 kB.
 *
 * @param bytes  hexadecimal
 */
export function withLastBytes(encoded: string, bytes: string): string {
  const length = (bytes.length / 2).toString(16).padStart(64, '0');
  return encoded.slice(0, -64) + length + bytes.padEnd(64 * Math.ceil(bytes.length / 64), '0');
}

/** Proves one segment whose outer statement is the Segment of a job on chain. */
export function sealSegment(backend: Backend, choice: SegmentChoice): SealedSegment {
  const { plan, input } = testSegment(backend, choice);
  const { manifest, index, recordCount, datasetRoot } = input.statement;
  const encodedPlan = planBytes(plan);
  const specFields = {
    jobSpec: fill(9),
    manifestDigest: manifestDigest(manifest),
    datasetRoot,
    seed: fromHex(manifest.seed),
    steps: manifest.steps,
    recordCount,
    schedule: manifest.optimizer.m.map(([from, m]) => (BigInt(from) << 8n) | BigInt(m)),
  };
  const terms = sealTerms(fromHex(specDigestOf(specFields, encodedPlan)), fromHex(selector));
  const job = escrowIdOf(terms);
  const outer = (weightsAfter: Uint8Array): Uint8Array =>
    segmentDigest(domain, { job, index, weightsBefore: weightsDigestOf(input.statement.before, plan), weightsAfter });
  const { proof, statement } = proveSegment(backend, plan, {
    ...input,
    statement: { ...input.statement, outerDigest: outer },
  });
  const fields: SealFields = {
    domain,
    terms: encodeTerms(terms),
    index,
    spec: specFields,
    before: { ...statement.before },
    afterwards: { ...statement.after },
    data: { ...statement.data },
    dataPath: statement.dataPath,
    sizes: stepBytes(plan, index, recordCount),
    plan: encodedPlan,
    proof,
  };
  return { plan, statement, fields, digest: statement.outerDigest };
}

/** StepContext.specDigest. */
export function specDigestOf(s: Readonly<Record<string, unknown>>, plan: Uint8Array): string {
  const planDigest = solidityPackedKeccak256(['bytes32', 'bytes'], [id('fxt-zk/plan/1'), plan]);
  const schedule = solidityPackedKeccak256(['uint256[]'], [s['schedule']]);
  const types = ['bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32', 'uint256', 'uint256', 'bytes32'];
  const values = [id('fxt-zk/spec/1'), s['jobSpec'], planDigest, s['manifestDigest'], s['datasetRoot'], s['seed']];
  return keccak256(coder.encode(types, [...values, s['steps'], s['recordCount'], schedule]));
}
