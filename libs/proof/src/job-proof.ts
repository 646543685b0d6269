/**
 * One proved segment of a job, in whichever scheme its spec names: that the proof is for this job, its plan, its data and
 * its escrow, and that it holds.
 */
import { type BundledJob, type ProofVerifier, type ShownByProof } from '#attestation';
import { equalBytes, to0x, toHex } from '#attestation/base';
import { escrowIdentity, jobIdOf, type BundledProof } from '#attestation/records';
import { checkBounds, manifestDigest, parseManifestText } from '#libs/step';
import { circuitShape, groth16PlanDigest, groth16SchemeId } from '#libs/zk/verifier';
import { type ChainStatement } from './fields.js';
import {
  groth16StatementText,
  parseGroth16Bundle,
  parseGroth16Statement,
  type Groth16Statement,
} from './groth16-statement.js';
import { verifyGroth16Bundle, type KeyPolicy } from './groth16-verify.js';
import { proofDocumentBytesMax } from './limits.js';
import { refuse } from './refuse.js';
import { parseProofStatement, planOf, proofStatementText, type ProofStatement } from './statement.js';
import { verifyProofBundle } from './verify.js';

const rule = 'libs/proof/SPEC.md, proofs of a job';

/** The job's own key alone, and that of a ceremony. */
const ceremonyKeys: KeyPolicy = { takesDevelopmentKeys: false };

/**
 * @param bytes    proof bundle of one proof
 * @param document text of its statement
 * @param keys     whose Groth16 keys are trusted, of those that the job names
 * @throws Rejection PROOF_FOREIGN, PROOF_STATEMENT and those of `verifyProofBundle` and `verifyGroth16Bundle`
 */
export function verifyJobProof(
  job: BundledJob,
  index: number,
  bytes: Uint8Array,
  document: string,
  keys: KeyPolicy = ceremonyKeys,
): ShownByProof {
  if (job.spec.scheme === groth16SchemeId) {
    const statement = readGroth16Document(document);
    checkGroth16(job, index, statement, bytes);
    checkText(groth16StatementText(statement), document);
    const { statement: shown, soundnessBits, ceremony, verificationKey } = verifyGroth16Bundle(bytes, statement, keys);
    const isReadersOwn = keys.isOwnPlan === true || keys.verificationKey !== undefined;
    const setup = { name: `the ${ceremony} setup of Groth16 key ${to0x(verificationKey)}`, isReadersOwn };
    return { statement: shown, soundnessBits, setup, start: 'given' };
  }
  const statement = readProofDocument(document);
  checkSumcheck(job, index, statement);
  checkText(proofStatementText(statement), document);
  return verifyProofBundle(bytes, statement);
}

/** For `verifyBundle` of attestation: of Groth16 keys those of a ceremony of several parties alone. */
export function verifyBundledProof(job: BundledJob, index: number, { bytes, document }: BundledProof): ShownByProof {
  return verifyJobProof(job, index, bytes, document);
}

/** The same for a reader who says which keys are trusted. */
export function verifyBundledProofUnder(keys: KeyPolicy): ProofVerifier {
  return (job, index, { bytes, document }) => verifyJobProof(job, index, bytes, document, keys);
}

/** @throws Rejection PROOF_STATEMENT and those of `parseManifest` */
export function readProofDocument(document: string): ProofStatement {
  return parseProofStatement(parseDocument(document));
}

/** The same of a Groth16 proof. */
export function readGroth16Document(document: string): Groth16Statement {
  return parseGroth16Statement(parseDocument(document));
}

function parseDocument(document: string): unknown {
  if (document.length > proofDocumentBytesMax) {
    refuse('PROOF_STATEMENT', `at most ${proofDocumentBytesMax} characters`, document.length, rule);
  }
  try {
    return JSON.parse(document);
  } catch {
    return refuse('PROOF_STATEMENT', 'a JSON document', document.slice(0, 40), rule);
  }
}

/** Of one spelling: a file whose document says the same in other words is another file to the judge as well. */
function checkText(canonical: string, document: string): void {
  if (document !== canonical)
    refuse('PROOF_STATEMENT', 'the document in the form of RFC 8785', 'another spelling', rule);
}

function checkSumcheck(job: BundledJob, index: number, statement: ProofStatement): void {
  const { proving, scheme } = job.spec;
  if (proving === null) return refuse('PROOF_FOREIGN', 'a job that is proved', `scheme ${scheme}`, rule);
  same('profile', proving.profile, statement.profile);
  same('variant', proving.variant, statement.variant);
  checkChain(job, index, statement);
  sameBytes('plan', proving.planDigest, planOf(statement).digest);
}

/** The plan is of one circuit with one key: the bundle's must be it. */
function checkGroth16(job: BundledJob, index: number, statement: Groth16Statement, bytes: Uint8Array): void {
  checkChain(job, index, statement);
  checkBounds(statement.manifest);
  const { key } = parseGroth16Bundle(bytes);
  const plan = groth16PlanDigest(circuitShape(statement.manifest), statement.ceremony, key);
  sameBytes('plan', job.spec.proving!.planDigest, plan);
}

function checkChain({ spec, terms }: BundledJob, index: number, statement: ChainStatement<unknown>): void {
  const { dataset, segmentSteps, settlement } = spec;
  same('segments', 1, statement.segments.length);
  same('first step', index * segmentSteps, statement.firstStep);
  same('records', dataset.records, statement.recordCount);
  sameBytes('job', jobIdOf(spec), statement.jobId);
  sameBytes('program', manifestDigest(parseManifestText(spec.manifest)), manifestDigest(statement.manifest));
  sameBytes('data', dataset.root, statement.datasetRoot);
  const { escrow } = statement;
  if (escrow === undefined) return refuse('PROOF_FOREIGN', 'a proof for the escrow of the job', 'one for none', rule);
  const { chainId, contract } = settlement;
  const { job, domain } = escrowIdentity(terms, { chainId, verifyingContract: contract });
  sameBytes('escrow contract', domain, escrow.domain);
  sameBytes('escrow', job, escrow.job);
}

function same(what: string, expected: unknown, got: unknown): void {
  if (String(expected) !== String(got)) refuse('PROOF_FOREIGN', `${what} ${String(expected)}`, got, rule);
}

function sameBytes(what: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) refuse('PROOF_FOREIGN', `${what} ${toHex(expected)}`, toHex(got), rule);
}
