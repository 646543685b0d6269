/** Everything that can be checked about a submitted job before it is stored. Pure: the caller supplies what it reads. */
import { equalBytes, jobIdOf, parseDatasetManifest, parseJobSpec, toHex, type JobSpec } from '#attestation';
import { canonicalManifest, checkBounds, parseManifestText, type Manifest } from '#libs/step';
import type { TermsJson } from '#libs/messaging';
import type { Dataset } from '#libs/persistence';
import type { ChainConfig } from '../config.js';
import type { EvidenceAppraiser } from '../evidence/evidence-appraiser.js';
import { refusal } from '../problem/codes.js';
import { readTerms, type EscrowTerms } from '../settlement/escrow-terms.js';

export interface Submission {
  readonly spec: Uint8Array;
  readonly terms: TermsJson;
  readonly policy: Uint8Array;
}

export interface CheckedSubmission {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  readonly terms: EscrowTerms;
}

const rule = 'control-plane README, submission';
export const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

/**
 * @param at  unix seconds
 * @throws Rejection CBOR_*, MESSAGE_*, MANIFEST_*, the range rules of libs/step, TERMS_*, JOB_*
 */
export function checkSubmission(
  submission: Submission,
  appraiser: Pick<EvidenceAppraiser, 'policyDigest'>,
  chain: ChainConfig | null,
  at: number,
): CheckedSubmission {
  const spec = parseJobSpec(submission.spec);
  const jobId = hex(jobIdOf(spec));
  const manifest = parseManifestText(spec.manifest);
  demandEqual(
    'JOB_ASSURANCE',
    'assurance tee, scheme state-keccak',
    `assurance ${spec.assurance}, scheme ${spec.scheme}`,
  );
  demand(
    'JOB_MANIFEST_CANONICAL',
    equalBytes(canonicalManifest(manifest), spec.manifest),
    'the canonical JSON of the manifest in the spec',
    'other bytes',
  );
  checkBounds(manifest);
  const policyDigest = appraiser.policyDigest(submission.policy);
  demandEqual('JOB_POLICY_DIGEST', hex(spec.policyDigest), hex(policyDigest));
  const terms = readTerms(submission.terms);
  demandEqual('JOB_TERMS_SPEC', jobId, terms.specDigest);
  demandEqual('JOB_TERMS_POLICY', hex(spec.policyDigest), terms.policy);
  const segments = Math.ceil(manifest.steps / spec.segmentSteps);
  demandEqual('JOB_TERMS_SEGMENTS', `${segments} segments`, `${terms.segments} segments`);
  if (chain !== null) {
    const { chainId, contract } = spec.settlement;
    demandEqual('JOB_SETTLEMENT_CONTRACT', `${chain.chainId}:${chain.contract}`, `${chainId}:${hex(contract)}`);
  }
  demand('JOB_DEADLINE_PAST', terms.acceptBy > at, `acceptBy after ${at}`, `${terms.acceptBy}`);
  return { jobId, spec, manifest, terms };
}

/** @throws Rejection JOB_DATASET_MISMATCH when the data set is not the one that spec and manifest speak of */
export function checkDataset({ spec, manifest }: CheckedSubmission, dataset: Dataset): void {
  const sealed = parseDatasetManifest(dataset.manifest);
  const describe = (root: Uint8Array, ...numbers: readonly number[]): string => `${hex(root)} ${numbers.join(' ')}`;
  const wanted = describe(
    spec.dataset.root,
    spec.dataset.records,
    spec.dataset.shards,
    manifest.dims[0]!,
    manifest.dims.at(-1)!,
    manifest.batch,
    manifest.superblock,
  );
  const found = describe(
    sealed.root,
    sealed.records,
    sealed.shards.length,
    sealed.features,
    sealed.classes,
    sealed.batch,
    sealed.superblock,
  );
  demandEqual(
    'JOB_DATASET_MISMATCH',
    `root, records, shards, features, classes, batch, superblock ${wanted}`,
    `root, records, shards, features, classes, batch, superblock ${found}`,
  );
}

type SubmissionCode = Parameters<typeof refusal>[0];

function demandEqual(code: SubmissionCode, expected: string, got: string): void {
  demand(code, expected === got, expected, got);
}

function demand(code: SubmissionCode, holds: boolean, expected: string, got: string): void {
  if (!holds)
    throw refusal(code, { expected, got, rule, action: 'Correct the submission and send it with a new key.' });
}
