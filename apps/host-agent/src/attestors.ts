/** Appraisals by attestors that the terms list: each over a challenge of its own, as many as each key needs. */
import { createHash } from 'node:crypto';
import { CodedError, CollateralError, equalBytes, recoverAddress, Rejection, to0x } from '#attestation/base';
import {
  appraisalDigest,
  domainSeparator,
  encodeTerms,
  escrowIdOf,
  keysDigest,
  parseJobSpec,
  parseSessionEvidence,
  type Appraisal,
  type Terms,
} from '#attestation/records';
import { type AttestorAppraisal, type BrokerPatience, createBrokerClient, isOfBroker, note } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { AssignedJob } from '#libs/wire';

/** Where each account that the host knows answers: account as 0x-hexadecimal, URL. */
export type Attestors = Readonly<Record<string, string>>;

export interface AttestorsAsked {
  readonly attestors: Attestors;
  readonly patience: BrokerPatience;
}

type AskedJob = Pick<AssignedJob, 'jobId' | 'spec'>;

/** @throws Rejection HOST_TERMS_ATTESTOR where this host knows too few of the list */
export function checkAttestors({ attestors: listed, needed }: Terms, known: Attestors): void {
  const unknown = listed.map(to0x).filter((account) => known[account] === undefined);
  if (listed.length - unknown.length >= needed) return;
  throw new Rejection('HOST_TERMS_ATTESTOR', {
    expected: `the addresses of ${needed} of ${listed.length} attestors in the settings`,
    got: `none of ${unknown.join(', ')}`,
    rule: 'host agent settings, attestors',
    action: 'add the attestors that the terms list to the settings, or refuse the job',
  });
}

/**
 * Asks all at once and waits for as many as are needed; who is slower than those is not waited for.
 * @throws CollateralError HOST_TERMS_ATTESTOR when too few can be reached, Rejection when too few agree
 */
export async function askAttestors(
  job: AskedJob,
  terms: Terms,
  enclave: EnclaveClient,
  asked: AttestorsAsked,
): Promise<readonly AttestorAppraisal[]> {
  const { needed } = terms;
  if (needed === 0) return [];
  const known = terms.attestors.filter((account) => asked.attestors[to0x(account)] !== undefined);
  const given: AttestorAppraisal[] = [];
  const failures: unknown[] = [];
  return new Promise((resolve, reject) => {
    const decide = (): void => {
      if (given.length >= needed) resolve(given.slice(0, needed));
      else if (known.length - failures.length < needed) reject(tooFew(needed, given.length, failures));
    };
    for (const account of known) {
      askOne(account, job, terms, enclave, asked)
        .then((appraisal) => void given.push(appraisal))
        .catch((error: unknown) => {
          note(`attestor ${to0x(account)}`, error);
          failures.push(error);
        })
        .then(decide, reject);
    }
    decide();
  });
}

async function askOne(
  account: Uint8Array,
  { jobId, spec: encoded }: AskedJob,
  terms: Terms,
  enclave: EnclaveClient,
  { attestors, patience }: AttestorsAsked,
): Promise<AttestorAppraisal> {
  const url = attestors[to0x(account)]!;
  const attestor = createBrokerClient(url, [url], patience);
  const spec = new Uint8Array(Buffer.from(encoded, 'base64'));
  return patience.keep(async () => {
    const evidence = await enclave.request('attest', { nonce: await attestor.challenge(jobId) });
    const answer = await attestor.appraise({ spec, terms: encodeTerms(terms), evidence });
    checkAnswer(account, spec, terms, evidence, answer);
    return answer;
  }, isOfBroker);
}

/** The chain would refuse another after the stake is locked. @throws Rejection ATTESTOR_SIGNATURE */
function checkAnswer(
  account: Uint8Array,
  spec: Uint8Array,
  terms: Terms,
  evidence: Uint8Array,
  { appraisal: { notAfter }, appraisalSignature }: AttestorAppraisal,
): void {
  const { binding } = parseSessionEvidence(evidence);
  const { chainId, contract } = parseJobSpec(spec).settlement;
  const expected: Appraisal = {
    ...{ job: escrowIdOf(terms), provider: terms.provider, session: keysDigest(binding), key: binding.settlementKey },
    ...{ policy: terms.policy, evidence: sha256(evidence), notAfter },
  };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const signer = recoverAddress(appraisalDigest(domain, expected), appraisalSignature);
  if (equalBytes(signer, account)) return;
  throw new Rejection('ATTESTOR_SIGNATURE', {
    expected: `an Appraisal of this session signed by ${to0x(account)}`,
    got: `one by ${to0x(signer)}, or of another session`,
    rule: 'contracts/SPEC.md §3',
    action: 'check the address of this attestor in the settings',
  });
}

function tooFew(needed: number, given: number, failures: readonly unknown[]): CodedError {
  const said = failures.map((error) => (error instanceof CodedError ? error.code : 'an error'));
  const mayHelp = failures.some((error) => !(error instanceof Rejection));
  const Family = mayHelp ? CollateralError : Rejection;
  return new Family('HOST_TERMS_ATTESTOR', {
    expected: `appraisals by ${needed} attestors of the terms`,
    got: `${given}; ${said.join(', ')}`,
    rule: 'contracts/SPEC.md §10',
    action: 'see what the attestors refused, or wait until they can be reached',
  });
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
