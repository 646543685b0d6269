/** One proved segment of a job: that the proof is for this job, its plan, its data and its escrow, and that it holds. */
import {
  domainSeparator,
  equalBytes,
  jobDigest,
  jobIdOf,
  toHex,
  type BundledJob,
  type BundledProof,
} from '#attestation';
import { manifestDigest, parseManifestText } from '#libs/step';
import { proofDocumentBytesMax } from './limits.js';
import { refuse } from './refuse.js';
import { parseProofStatement, planOf, type ProofStatement } from './statement.js';
import { verifyProofBundle, type VerifiedProof } from './verify.js';

const rule = 'proof SPEC, proofs of a job';

/**
 * @param bytes    proof bundle of one proof
 * @param document text of its statement
 * @throws Rejection PROOF_FOREIGN, PROOF_STATEMENT and those of `verifyProofBundle`
 */
export function verifyJobProof(job: BundledJob, index: number, bytes: Uint8Array, document: string): VerifiedProof {
  const statement = readProofDocument(document);
  checkBelongs(job, index, statement);
  return verifyProofBundle(bytes, statement);
}

/** For `verifyBundle` of attestation. */
export function verifyBundledProof(job: BundledJob, index: number, { bytes, document }: BundledProof): VerifiedProof {
  return verifyJobProof(job, index, bytes, document);
}

/** @throws Rejection PROOF_STATEMENT and those of `parseManifest` */
export function readProofDocument(document: string): ProofStatement {
  if (document.length > proofDocumentBytesMax) {
    refuse('PROOF_STATEMENT', `at most ${proofDocumentBytesMax} characters`, document.length, rule);
  }
  let json: unknown = null;
  try {
    json = JSON.parse(document);
  } catch {
    refuse('PROOF_STATEMENT', 'a JSON document', document.slice(0, 40), rule);
  }
  return parseProofStatement(json);
}

function checkBelongs({ spec, terms }: BundledJob, index: number, statement: ProofStatement): void {
  const { proving, dataset, segmentSteps, settlement } = spec;
  const same = (what: string, expected: unknown, got: unknown): void => {
    if (String(expected) !== String(got)) refuse('PROOF_FOREIGN', `${what} ${String(expected)}`, got, rule);
  };
  const sameBytes = (what: string, expected: Uint8Array, got: Uint8Array): void => {
    if (!equalBytes(expected, got)) refuse('PROOF_FOREIGN', `${what} ${toHex(expected)}`, toHex(got), rule);
  };
  if (proving === null) return refuse('PROOF_FOREIGN', 'a job that is proved', `scheme ${spec.scheme}`, rule);
  same('segments', 1, statement.segments.length);
  same('first step', index * segmentSteps, statement.firstStep);
  same('profile', proving.profile, statement.profile);
  same('variant', proving.variant, statement.variant);
  same('records', dataset.records, statement.recordCount);
  sameBytes('job', jobIdOf(spec), statement.jobId);
  sameBytes('program', manifestDigest(parseManifestText(spec.manifest)), manifestDigest(statement.manifest));
  sameBytes('data', dataset.root, statement.datasetRoot);
  sameBytes('plan', proving.planDigest, planOf(statement).digest);
  const { escrow } = statement;
  if (escrow === undefined) return refuse('PROOF_FOREIGN', 'a proof for the escrow of the job', 'one for none', rule);
  const { chainId, contract } = settlement;
  sameBytes('escrow contract', domainSeparator({ chainId, verifyingContract: contract }), escrow.domain);
  sameBytes('escrow', jobDigest(terms), escrow.job);
}
