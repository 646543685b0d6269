/** Everything that can be checked about a submitted job before it is stored. Pure: the caller supplies what it reads. */
import { to0x } from '#attestation/base';
import {
  isNetDataset,
  jobIdOf,
  parseJobSpec,
  samplesMaxOf,
  specDigestOf,
  type Assurance,
  type DatasetManifest,
  type SealedDataset,
  type JobSpec,
} from '#attestation/records';
import { decideAssurance, groth16Admission, planOf, provenSteps } from '#libs/proof';
import {
  checkStateSize,
  classCount,
  divideSteps,
  featureCount,
  isInPieces,
  isNet,
  type JobManifest,
  type Manifest,
  type NetManifest,
} from '#libs/step';
import type { JobRequirements, TermsJson } from '#libs/wire';
import type { Config } from '../core/config/config.js';
import { readTerms, type EscrowTerms } from './escrow-terms.js';
import { anyProvider } from './job-queue.js';
import { checkedManifest } from './known-manifests.js';
import { checkNet, checkNetDataset, netRequirements } from './net-submission.js';
import { demand, demandEqual } from './demand.js';

export interface PolicyReader {
  /** Digest that the job spec must carry, 32 bytes. @throws Rejection when the policy is malformed */
  policyDigest(policy: Uint8Array): Uint8Array;
}

export interface Submission {
  readonly spec: Uint8Array;
  readonly terms: TermsJson;
  readonly policy: Uint8Array;
}

export interface CheckedSubmission {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly manifest: JobManifest;
  readonly terms: EscrowTerms;
}

const groth16: JobSpec['scheme'] = 'fxt-groth16/1';

/**
 * @param at  unix seconds
 * @throws Rejection CBOR_*, MESSAGE_*, MANIFEST_*, the range rules of libs/step, TERMS_*, JOB_*
 */
export function checkSubmission(
  submission: Submission,
  policies: PolicyReader,
  { chain, highValueFromWei }: Pick<Config, 'chain' | 'highValueFromWei'>,
  at: number,
): CheckedSubmission {
  const spec = parseJobSpec(submission.spec);
  const jobId = to0x(jobIdOf(spec));
  const manifest = checkedManifest(spec.manifest);
  if (isNet(manifest)) checkNet(spec, manifest);
  else checkProved(spec, manifest);
  const policyDigest = policies.policyDigest(submission.policy);
  demandEqual('JOB_POLICY_DIGEST', to0x(spec.policyDigest), to0x(policyDigest));
  const terms = readTerms(submission.terms);
  demandEqual('JOB_TERMS_SPEC', to0x(specDigestOf(spec)), terms.specDigest);
  checkValue(spec.assurance, terms.price, highValueFromWei, at);
  checkSampling(spec.assurance, terms);
  demandEqual('JOB_TERMS_POLICY', to0x(spec.policyDigest), terms.policy);
  checkStateSize(manifest, spec);
  const { rounds: segments, workers } = divideSteps(manifest, spec);
  if (workers > 1) {
    const provider = terms.provider === anyProvider ? 'any provider' : 'one provider';
    demandEqual('JOB_PARALLEL', 'terms of one provider', `terms of ${provider}`);
  }
  demandEqual('JOB_TERMS_SEGMENTS', `${segments} segments`, `${terms.segments} segments`);
  if (chain !== null) {
    const { chainId, contract } = spec.settlement;
    demandEqual('JOB_SETTLEMENT_CONTRACT', `${chain.chainId}:${chain.contract}`, `${chainId}:${to0x(contract)}`);
  }
  demand('JOB_DEADLINE_PAST', terms.acceptBy > at, `acceptBy after ${at}`, `${terms.acceptBy}`);
  return { jobId, spec, manifest, terms };
}

/** @throws Rejection JOB_ASSURANCE, and those of `checkProving` */
function checkProved(spec: JobSpec, manifest: Manifest): void {
  demand(
    'JOB_ASSURANCE',
    spec.assurance === 'tee' || spec.proving !== null,
    'scheme fxt-zk/1 or fxt-groth16/1 in a job whose steps are proved',
    `assurance ${spec.assurance}, scheme ${spec.scheme}`,
  );
  if (spec.proving !== null) checkProving(spec, manifest);
}

/** What a node with a TEE does not give alone: jobs of high value are proved too, or proved without one. */
function checkValue(requested: Assurance, priceWei: bigint, highValueFromWei: bigint | null, at: number): void {
  const node = { hasTee: requested !== 'zk', attestedUntil: null };
  const { assurance } = decideAssurance({ requested, priceWei, highValueFromWei, isHighValue: false }, node, at);
  demandEqual('JOB_ASSURANCE', `assurance ${assurance} at this price`, `assurance ${requested} at this price`);
}

/** Whoever reads the job as sampled must find a draw on the chain, and whoever does not, none. */
function checkSampling(assurance: Assurance, { samples, segments }: EscrowTerms): void {
  demand(
    'JOB_ASSURANCE',
    samples > 0 === (assurance === 'sampled'),
    'terms in mode SAMPLE for assurance sampled, and for no other',
    `assurance ${assurance}, terms ${samples > 0 ? `with a sample of ${samples}` : 'without a sample'}`,
  );
  const most = samplesMaxOf(segments);
  demand('JOB_SAMPLES', samples <= most, `at most ${most} samples of ${segments} segments`, `${samples}`);
}

/** Segments as one proof covers, under the plan that the spec's profile and variant give. @throws Rejection STEP_PLAN */
function checkProving(spec: JobSpec, manifest: Manifest): void {
  const { profile, variant, planDigest } = spec.proving!;
  const isGroth16 = spec.scheme === groth16;
  const steps = isGroth16 ? manifest.superblock : provenSteps(manifest, profile);
  demandEqual('JOB_SEGMENT', `${steps} steps in a segment`, `${spec.segmentSteps} steps in a segment`);
  if (isGroth16) return checkGroth16(spec, manifest);
  demandEqual('JOB_PLAN', `variant separate`, `variant ${variant}`);
  demandEqual('JOB_PLAN', to0x(planOf({ manifest, profile, variant }).digest), to0x(planDigest));
}

/**
 * No enclave commits in this scheme, and nobody has settled a sample of it. Of the plan only its key's holders know more:
 * every proof is verified against it.
 *
 * @throws Rejection JOB_SCHEME, GROTH16_SHAPE
 */
function checkGroth16({ assurance, scheme }: JobSpec, manifest: Manifest): void {
  demand('JOB_SCHEME', assurance === 'zk', `assurance zk in scheme ${scheme}`, `assurance ${assurance}`);
  groth16Admission(manifest);
}

/**
 * What a job demands of a node, whatever its client asked for: in scheme `fxt-groth16/1` the key of its plan, of `fxt/2`
 * its semantics, its ops, and that it takes start weights; and of a large state that it carries one in pieces.
 */
export function ownRequirements({
  spec,
  manifest,
}: Pick<CheckedSubmission, 'spec' | 'manifest'>): Pick<
  JobRequirements,
  'groth16Key' | 'fxt' | 'ops' | 'start' | 'pieces'
> {
  const groth16Key = spec.scheme === groth16 ? to0x(spec.proving!.planDigest) : undefined;
  const none = { fxt: undefined, ops: undefined, start: undefined };
  const pieces = spec.proving === null && isInPieces(manifest) ? true : undefined;
  return { groth16Key, pieces, ...none, ...(isNet(manifest) && netRequirements(manifest)) };
}

/** @throws Rejection JOB_DATASET_MISMATCH when the data set is not the one that spec and manifest speak of */
export function checkDataset({ spec, manifest }: CheckedSubmission, sealed: SealedDataset): void {
  const [needed, given] = [isNet(manifest) ? 2 : 1, isNetDataset(sealed) ? 2 : 1];
  demandEqual('JOB_DATASET_MISMATCH', `a data set of layout ${needed}`, `a data set of layout ${given}`);
  if (isNetDataset(sealed)) return checkNetDataset(spec, manifest as NetManifest, sealed);
  checkPlainDataset(spec, manifest as Manifest, sealed);
}

function checkPlainDataset(spec: JobSpec, manifest: Manifest, sealed: DatasetManifest): void {
  const describe = (root: Uint8Array, ...more: readonly unknown[]): string => `${to0x(root)} ${more.join(' ')}`;
  const wanted = describe(
    spec.dataset.root,
    spec.dataset.records,
    spec.dataset.shards,
    featureCount(manifest),
    classCount(manifest),
    manifest.batch,
    manifest.superblock,
    spec.proving?.profile,
  );
  const isGroth16 = spec.scheme === groth16;
  const found = describe(
    isGroth16 ? (sealed.groth16?.root ?? new Uint8Array()) : sealed.root,
    sealed.records,
    sealed.shards.length,
    sealed.features,
    sealed.classes,
    sealed.batch,
    sealed.superblock,
    isGroth16 ? sealed.groth16 && 'groth16' : sealed.proving?.profile,
  );
  demandEqual(
    'JOB_DATASET_MISMATCH',
    `root, records, shards, features, classes, batch, superblock, profile ${wanted}`,
    `root, records, shards, features, classes, batch, superblock, profile ${found}`,
  );
}
