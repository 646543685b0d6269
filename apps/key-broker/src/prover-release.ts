/**
 * The broker's other decision: may a named prover, a machine without a TEE, have this data set's key for this job?
 * Such a machine reads the data. So the key goes only to accounts that the data owner lists, only for jobs whose steps
 * are proved, and only while the proofs stay within what the commitments hide. The key is sealed to an X25519 key that
 * the account signed for.
 */
import { createHash } from 'node:crypto';
import { isZero, recoverAddress, signRecoverable, to0x, toHex } from '#attestation/base';
import {
  decodeTerms,
  domainSeparator,
  escrowIdOf,
  jobIdOf,
  mayBeProvedInstead,
  parseJobSpec,
  proverRequestDigest,
  releaseDigest,
  type BundledEntry,
  type JobSpec,
  type Release,
  type Terms,
} from '#attestation/records';
import { admitJob, openingContext, openingsOfJob, planOfJob } from '#libs/proof';
import { sealDataKey } from '#libs/sealing';
import { parseManifestText } from '#libs/step';
import { authoriseJob, releasable, refused, requireEscrow } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { decide } from './decide.js';
import { logAndRecord, openingsSoFar, type Journal, type WrittenOpenings } from './journal.js';
import type { JournalHeads } from './journal-heads.js';
import type { NonceStore } from './nonces.js';
import type { SessionStore } from './sessions.js';

interface ProverReleaseRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly nonce: Uint8Array;
  /** X25519 public key that the data key is sealed to. */
  readonly transportKey: Uint8Array;
  /** 65 bytes over `proverRequestDigest`, by the account of a prover: the job's provider or one that proves for it. */
  readonly signature: Uint8Array;
}

interface EntrustedKey {
  /** Encapsulated key (32 bytes) ‖ ciphertext of the data key. */
  readonly sealedKey: Uint8Array;
  /**
   * What starts the escrow with neither key nor session of an enclave; a contract that demands a seal pays nothing for
   * it.
   */
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
  /** What the log has of it, where the data owner demands a log. */
  readonly logged?: readonly BundledEntry[];
}

interface ProverReleaseParts {
  readonly config: BrokerConfig;
  readonly nonces: NonceStore;
  readonly sessions: SessionStore;
  readonly journal: Journal;
  readonly heads: JournalHeads;
}

/**
 * @param at unix seconds
 * @throws Rejection NONCE_*, BROKER_ASSURANCE, BROKER_PROVER, SEAL_SIGNATURE, those of authorise.ts,
 *   BROKER_JOBS, OPENING_BUDGET, STEP_PLAN; CollateralError of authorise.ts, BROKER_JOURNAL, BROKER_SESSION_HELD, BROKER_LOG,
 *   BROKER_JOURNAL_CUT
 */
export async function releaseToProver(
  { config, nonces, sessions, journal, heads }: ProverReleaseParts,
  request: ProverReleaseRequest,
  at: number,
): Promise<EntrustedKey> {
  const { nonce, transportKey } = request;
  const spec = parseJobSpec(request.spec);
  const terms = decodeTerms(request.terms);
  const jobId = jobIdOf(spec);
  const digest = proverRequestDigest(jobId, nonce, transportKey);
  const account = recoverAddress(digest, request.signature);
  return decide({ journal, nonces, nonce, jobId, at, prove: () => account }, async (issuedAt) => {
    await heads.compare(at);
    const checkAssurance = (): void => {
      if (mayBeProvedInstead(spec, terms)) sessions.checkOver(jobId, at);
      else if (spec.assurance === 'tee') {
        throw refused('BROKER_ASSURANCE', 'a job whose steps are proved', spec.assurance);
      }
    };
    checkAssurance();
    const datasetId = spec.dataset.id;
    const key = authoriseJob(config, { spec, terms });
    if (config.provers?.has(toHex(account)) !== true) {
      throw refused('BROKER_PROVER', 'a prover that the data owner named', toHex(account));
    }
    await requireEscrow(config, terms, releasable);
    const openings = admit(journal, spec, jobId, terms);
    const sealedKey = await sealDataKey({ datasetId, key }, { jobId, aad: digest }, transportKey);
    const times = { grantedAt: at, notAfter: issuedAt + config.validForSeconds };
    const start = startOf(config, { spec, terms, account, sealedKey, nonce, evidence: digest, ...times });
    const { log } = config;
    const enter = log && ((announce: (entry: Uint8Array) => void) => log.enter(start.release, key, at, announce));
    // Others may have been given rows meanwhile, or an enclave the key.
    const checkAgain = (): void => {
      checkAssurance();
      admit(journal, spec, jobId, terms);
    };
    const more = { prover: to0x(account), openings };
    const about = { datasetId, jobId, more, checkAgain, ...(enter && { enter }) };
    const logged = await logAndRecord(journal, config, at, about);
    return { sealedKey, ...start, ...(logged && { logged }) };
  });
}

/**
 * Proofs show a little of every row that they open: the data set's rows may be opened so often and no more. Groth16
 * opens none. Which key its plan is of the broker does not see: the prover that the owner trusts with the data checked
 * it.
 */
function admit(journal: Journal, spec: JobSpec, jobId: Uint8Array, terms: Terms): WrittenOpenings {
  const manifest = parseManifestText(spec.manifest);
  if (spec.scheme === 'fxt-groth16/1') return noOpenings;
  const { profile } = planOfJob(spec, manifest);
  const context = openingContext(terms);
  const job = openingsOfJob({ jobId, context }, manifest, spec.dataset.records, profile);
  admitJob(openingsSoFar(journal, spec.dataset.id), job, profile);
  const { perSuperblock, perBorder } = job;
  return { perSuperblock, perBorder, context: to0x(context) };
}

const noOpenings = { perSuperblock: 0, perBorder: 0 };

interface Start extends Pick<Release, 'nonce' | 'evidence' | 'grantedAt' | 'notAfter'> {
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly account: Uint8Array;
  readonly sealedKey: Uint8Array;
}

function startOf(
  config: BrokerConfig,
  { spec, terms, account, sealedKey, ...rest }: Start,
): Pick<EntrustedKey, 'release' | 'releaseSignature'> {
  const { chainId, contract } = config.settlement;
  const release: Release = {
    ...rest,
    job: escrowIdOf(terms),
    provider: isZero(terms.provider) ? account : terms.provider,
    dataset: spec.dataset.id,
    session: new Uint8Array(32),
    key: new Uint8Array(20),
    policy: terms.policy,
    grant: new Uint8Array(createHash('sha256').update(sealedKey).digest()),
  };
  const digest = releaseDigest(domainSeparator({ chainId, verifyingContract: contract }), release);
  return { release, releaseSignature: signRecoverable(digest, config.signingSecret) };
}
