/** The data owner's key broker, as a host asks it on behalf of an enclave, or a prover for itself. */
import { z } from 'zod';
import {
  CollateralError,
  fromHex,
  Rejection,
  toHex,
  type Appraisal,
  type Release,
  type SessionLease,
} from '#attestation';
import { readBody, readProblem } from './body.js';
import { brokerAnswerBytesMax } from './limits.js';
import { refusalOf } from './refusal.js';

/** The broker's word on fresh evidence of a session. */
export interface BrokerAppraisal {
  readonly lease: SessionLease;
  readonly appraisal: Appraisal;
  readonly appraisalSignature: Uint8Array;
  /** Account that signed both, 20 bytes. */
  readonly account: Uint8Array;
  /** The broker's attestation result, EAR in COSE. */
  readonly result: Uint8Array;
}

export interface BrokerRelease extends BrokerAppraisal {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
}

export interface BrokerRenewal extends BrokerAppraisal {
  /** Over sessionLeaseDigest, 65 bytes. */
  readonly leaseSignature: Uint8Array;
}

export interface EvidenceRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly evidence: Uint8Array;
}

export interface BrokerClient {
  challenge(jobId: string): Promise<Uint8Array>;
  release(request: EvidenceRequest): Promise<BrokerRelease>;
  /** For a session that has the data key: its lease goes on (key broker API). */
  renew(request: EvidenceRequest): Promise<BrokerRenewal>;
  /** The data key for a named prover (key broker API); `sealedKey` opens with its transport key. */
  entrust(request: ProverRequest): Promise<ProverRelease>;
  /** The broker's word as attestor that it has seen this ciphertext, for `available` (settlement §12). */
  availability(request: { terms: Uint8Array; ciphertext: Uint8Array }): Promise<Availability>;
}

export interface ProverRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly nonce: Uint8Array;
  /** X25519. */
  readonly transportKey: Uint8Array;
  /** Over proverRequestDigest, 65 bytes. */
  readonly signature: Uint8Array;
}

export type ProverRelease = Pick<BrokerRelease, 'sealedKey' | 'release' | 'releaseSignature' | 'account'>;

export interface Availability {
  /** Over availabilityDigest, 65 bytes. */
  readonly signature: Uint8Array;
  /** Account that signed, 20 bytes. */
  readonly account: Uint8Array;
}

const hex = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-f]{${2 * bytes}}$`))
    .transform(fromHex);
const base64 = z
  .string()
  .max(512 * 1024)
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64')));

const Challenge = z.object({ nonce: hex(32) });
const AppraisalAnswer = z.object({
  account: hex(20),
  lease: z.object({ nonce: hex(32), grantedAt: z.int().min(0), notAfter: z.int().min(0) }),
  appraisal: z.object({ key: hex(20), policy: hex(32), provider: hex(20), evidence: hex(32), notAfter: z.int() }),
  appraisalSignature: hex(65),
  result: base64,
});
const ReleaseAnswer = AppraisalAnswer.extend({
  sealedKey: base64,
  release: z.object({ job: hex(32), enclaveKey: hex(32), shardsDigest: hex(32) }),
  releaseSignature: hex(65),
});
const RenewalAnswer = AppraisalAnswer.extend({ leaseSignature: hex(65) });

const ProverAnswer = ReleaseAnswer.pick({ sealedKey: true, account: true, release: true, releaseSignature: true });

const AvailabilityAnswer = z.object({ signature: hex(65), account: hex(20) });

const attempts = 6;
const answerWithinMs = 15_000;
const firstPauseMs = 200;

/**
 * @param url     as the job names it
 * @param allowed origins that this host asks; absent: any over https, or on this machine
 * @throws Rejection HOST_BROKER
 */
export function createBrokerClient(url: string, allowed?: readonly string[]): BrokerClient {
  const base = allowedBase(url, allowed);
  async function post<S extends z.ZodType>(path: string, body: unknown, answer: S): Promise<z.infer<S>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await once(`${base}/v1/${path}`, body);
      if (!(outcome instanceof CollateralError)) return shaped(answer, outcome);
      if (attempt === attempts) throw outcome;
      await new Promise((resolve) => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)));
    }
  }
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  const shown = ({ spec, terms, evidence }: EvidenceRequest) => {
    return { spec: text(spec), terms: text(terms), evidence: text(evidence) };
  };
  return {
    challenge: async (jobId) => (await post('challenges', { jobId }, Challenge)).nonce,
    release: (request) => post('releases', shown(request), ReleaseAnswer),
    renew: (request) => post('renewals', shown(request), RenewalAnswer),
    entrust: ({ spec, terms, nonce, transportKey, signature }) =>
      post(
        'prover-releases',
        {
          ...{ spec: text(spec), terms: text(terms), nonce: `0x${toHex(nonce)}` },
          ...{ transportKey: `0x${toHex(transportKey)}`, signature: `0x${toHex(signature)}` },
        },
        ProverAnswer,
      ),
    availability: ({ terms, ciphertext }) =>
      post('availability', { terms: text(terms), ciphertext: text(ciphertext) }, AvailabilityAnswer),
  };
}

const loopback = new Set(['127.0.0.1', 'localhost', '[::1]']);

function allowedBase(url: string, allowed: readonly string[] | undefined): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed !== null && parsed.username === '' && parsed.search === '' && parsed.hash === '';
  const isAllowed =
    isPlain &&
    (allowed === undefined
      ? parsed.protocol === 'https:' || (parsed.protocol === 'http:' && loopback.has(parsed.hostname))
      : allowed.some((entry) => new URL(entry).origin === parsed.origin));
  if (isAllowed) return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`;
  throw new Rejection('HOST_BROKER', {
    expected: allowed === undefined ? 'a key broker over https, or on this machine' : 'a key broker of the settings',
    got: parsed === null ? 'no URL' : parsed.origin,
    rule: 'host agent settings, brokers',
    action: 'add the broker to the settings, or refuse its jobs',
  });
}

/** @throws Rejection BROKER_ANSWER */
function shaped<S extends z.ZodType>(answer: S, outcome: unknown): z.infer<S> {
  const result = answer.safeParse(outcome);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('BROKER_ANSWER', {
    expected: issue.message,
    got: issue.path.join('.') || 'the answer',
    rule: 'key broker API',
    action: 'check that the job names a key broker of this version',
  });
}

async function once(url: string, body: unknown): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(answerWithinMs),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.ok) return JSON.parse(Buffer.from(await readBody(response, brokerAnswerBytesMax)).toString('utf8'));
  } catch (error) {
    if (error instanceof Rejection) throw error;
    return unreachable(url, error instanceof Error ? error.message : String(error));
  }
  if (response.status >= 500) return unreachable(url, `status ${response.status}`);
  throw refusedBy(await readProblem(response), response.status);
}

/**
 * A broker names its own refusals BROKER_*; the codes of an appraisal come as BROKER_REFUSED with theirs as `got`. A
 * nonce that is spent, too old or not to be had is no verdict: the next attempt brings another.
 */
function refusedBy(problem: Record<string, unknown>, status: number): Rejection | CollateralError {
  const unnamed = { expected: 'a release', got: `status ${status}`, rule: 'key broker API' };
  const refusal = refusalOf(problem, { code: 'BROKER_REFUSED', ...unnamed });
  const { code, detail } = refusal;
  if (/^NONCES?_/.test(code)) return new CollateralError(code, detail);
  if (code.startsWith('BROKER_')) return refusal;
  const { expected, rule, action } = detail;
  return new Rejection('BROKER_REFUSED', {
    expected,
    got: `${code}: ${detail.got}`,
    rule,
    ...(action !== undefined && { action }),
  });
}

function unreachable(url: string, got: string): CollateralError {
  return new CollateralError('BROKER_UNREACHABLE', {
    expected: `an answer from ${new URL(url).host}`,
    got,
    rule: 'key broker API',
    action: 'check that the key broker runs; the job waits',
  });
}

/** What the control plane is told of a release: everything but the key. */
export function publicPart(answer: BrokerRelease): Record<string, string | number> {
  const { release, appraisal } = answer;
  const text = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
  return {
    account: text(answer.account),
    job: text(release.job),
    enclaveKey: text(release.enclaveKey),
    shardsDigest: text(release.shardsDigest),
    releaseSignature: text(answer.releaseSignature),
    key: text(appraisal.key),
    policy: text(appraisal.policy),
    provider: text(appraisal.provider),
    evidence: text(appraisal.evidence),
    notAfter: appraisal.notAfter,
    appraisalSignature: text(answer.appraisalSignature),
  };
}
