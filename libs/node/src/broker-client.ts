/** The data owner's key broker, as a host asks it on behalf of an enclave, or a prover for itself. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CollateralError, fromHex, Rejection, to0x, toBase64, toHex } from '#attestation/base';
import { chunksOf, keyCommitment, type Appraisal, type Lease, type Release } from '#attestation/records';
import { readBody } from '#libs/process';
import { readProblem } from './body.js';
import { BrokerBusy, brokerPatience, isAway, retryAfterMs, type BrokerPatience } from './broker-patience.js';
import { brokerAnswerBytesMax } from './limits.js';
import { refusalOf } from './refusal.js';

/** An account's verdict on fresh evidence of a session, and what it rested on. */
interface SignedVerdict {
  /** Account that signed, 20 bytes. */
  readonly account: Uint8Array;
  /** Attestation result, EAR in COSE, and the account's signature over `resultDigest`. */
  readonly result: Uint8Array;
  readonly resultSignature: Uint8Array;
  /** Canonical CBOR. */
  readonly endorsements: Uint8Array;
}

export interface BrokerRelease extends SignedVerdict {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
  /** What the broker logged before it released the key, as it goes into the bundle; absent where it logs nothing. */
  readonly logged?: BrokerLogged | undefined;
}

type BrokerLogged = z.infer<typeof logged>;

export interface BrokerRenewal extends SignedVerdict {
  readonly lease: Lease;
  readonly leaseSignature: Uint8Array;
}

export interface AttestorAppraisal extends SignedVerdict {
  readonly appraisal: Appraisal;
  readonly appraisalSignature: Uint8Array;
}

interface EvidenceRequest {
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
  /** The word of an attestor that the terms list (key broker API, attestors). */
  appraise(request: EvidenceRequest): Promise<AttestorAppraisal>;
  /** Stores a committed result piece by piece; what is there already is not sent again (contracts/SPEC.md §12). */
  store(request: StoredResult): Promise<void>;
  /** The broker's word that the stored ciphertext can be fetched from it, for `available` (contracts/SPEC.md §12). */
  availability(terms: Uint8Array): Promise<Availability>;
}

interface StoredResult {
  /** Escrow, 32 bytes. */
  readonly job: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly ciphertext: Uint8Array;
  readonly revealKey: Uint8Array;
}

interface ProverRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly nonce: Uint8Array;
  /** X25519. */
  readonly transportKey: Uint8Array;
  /** Over proverRequestDigest, 65 bytes. */
  readonly signature: Uint8Array;
}

export type ProverRelease = Pick<BrokerRelease, 'account' | 'sealedKey' | 'release' | 'releaseSignature' | 'logged'>;

interface Availability {
  /** Over availabilityDigest, 65 bytes. */
  readonly signature: Uint8Array;
  /** Account that signed, 20 bytes. */
  readonly account: Uint8Array;
  /** Unix seconds until which it is kept. */
  readonly until: number;
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

const endorsements = z
  .string()
  .max(12 * 1024 * 1024)
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64')));

const logged = z
  .array(
    z.object({
      entry: z.base64().max(8 * 1024),
      opening: z.object({ salt: z.string().regex(/^0x[0-9a-f]{64}$/), body: z.base64().max(4 * 1024) }).nullable(),
      proof: z.string().max(16 * 1024),
    }),
  )
  .max(4);

const Challenge = z.object({ nonce: hex(32) });
const seconds = z
  .int()
  .min(0)
  .max(2 ** 40 - 1);
const account = hex(20);
const verdictFields = { account, result: base64, resultSignature: hex(65), endorsements };
const named = { job: hex(32), session: hex(32), policy: hex(32), evidence: hex(32), notAfter: seconds };
const leaseStruct = z.object({ ...named, nonce: hex(32), grantedAt: seconds });
const releaseStruct = leaseStruct.extend({ provider: hex(20), dataset: hex(32), key: hex(20), grant: hex(32) });
const appraisalStruct = z.object({ ...named, provider: hex(20), key: hex(20) });

const given = { account, sealedKey: base64, release: releaseStruct, releaseSignature: hex(65) };
const ProverAnswer = z.object({ ...given, logged: logged.optional() });
const ReleaseAnswer = ProverAnswer.extend(verdictFields);
const RenewalAnswer = z.object({ ...verdictFields, lease: leaseStruct, leaseSignature: hex(65) });
const AppraisalAnswer = z.object({ ...verdictFields, appraisal: appraisalStruct, appraisalSignature: hex(65) });
const storedAnswer = (chunks: number) => {
  const index = z
    .int()
    .min(0)
    .max(chunks - 1);
  return z.object({ missing: z.array(index).max(1000) });
};
const AvailabilityAnswer = z.object({ signature: hex(65), account, until: seconds });

type Method = 'POST' | 'PUT';

const answerWithinMs = 15_000;
/** For who asks again by itself. */
const shortWaitMs = 7000;

/**
 * @param url       as the job names it
 * @param allowed   origins that this host asks; absent: any over https, or on this machine
 * @param patience  over all that is asked; absent: some seconds for each question
 * @throws Rejection HOST_BROKER
 */
export function createBrokerClient(url: string, allowed?: readonly string[], patience?: BrokerPatience): BrokerClient {
  const base = allowedBase(url, allowed);
  async function ask<S extends z.ZodType>(method: Method, path: string, body: unknown, answer: S): Promise<z.infer<S>> {
    const { keep } = patience ?? brokerPatience({ withinMs: shortWaitMs });
    return shaped(answer, await keep(() => once(method, `${base}/v1/${path}`, body), isAway));
  }
  const post = <S extends z.ZodType>(path: string, body: unknown, answer: S) => ask('POST', path, body, answer);
  const shown = ({ spec, terms, evidence }: EvidenceRequest) => {
    return { spec: toBase64(spec), terms: toBase64(terms), evidence: toBase64(evidence) };
  };
  return {
    challenge: async (jobId) => (await post('challenges', { jobId }, Challenge)).nonce,
    release: (request) => post('releases', shown(request), ReleaseAnswer),
    renew: (request) => post('renewals', shown(request), RenewalAnswer),
    entrust: ({ spec, terms, nonce, transportKey, signature }) =>
      post(
        'prover-releases',
        {
          ...{ spec: toBase64(spec), terms: toBase64(terms), nonce: to0x(nonce) },
          ...{ transportKey: to0x(transportKey), signature: to0x(signature) },
        },
        ProverAnswer,
      ),
    appraise: (request) => post('appraisals', shown(request), AppraisalAnswer),
    async store({ job, terms, ciphertext, revealKey }) {
      const chunks = chunksOf(ciphertext);
      const path = `results/0x${toHex(job)}`;
      const hashes = chunks.map((chunk) => `0x${createHash('sha256').update(chunk).digest('hex')}`);
      const keyCommit = to0x(keyCommitment(revealKey));
      const offered = { terms: toBase64(terms), length: ciphertext.length, hashes, keyCommit };
      const stored = storedAnswer(chunks.length);
      const { missing } = await ask('PUT', path, offered, stored);
      for (const index of missing) await ask('PUT', `${path}/${index}`, chunks[index], stored);
    },
    availability: (terms) => post('availability', { terms: toBase64(terms) }, AvailabilityAnswer),
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

/** @throws Rejection what the broker refuses for good; CollateralError when another try may help */
async function once(method: Method, url: string, body: unknown): Promise<unknown> {
  const isBytes = body instanceof Uint8Array;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(answerWithinMs),
      headers: { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' },
      body: isBytes ? body.slice() : JSON.stringify(body),
    });
    if (response.ok) return JSON.parse(Buffer.from(await readBody(response, brokerAnswerBytesMax)).toString('utf8'));
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw unreachable(url, error instanceof Error ? error.message : String(error));
  }
  throw refusedBy(response, await problemOf(response, url));
}

async function problemOf(response: Response, url: string): Promise<Record<string, unknown>> {
  try {
    return await readProblem(response);
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw unreachable(url, error instanceof Error ? error.message : String(error));
  }
}

/**
 * A broker names its own refusals BROKER_*; the codes of an appraisal come as BROKER_REFUSED with theirs as `got`. A
 * nonce that is spent, too old or not to be had is no verdict, and neither is what comes with status 429 or from 500: the
 * broker cannot decide now.
 */
function refusedBy(response: Response, problem: Record<string, unknown>): Rejection | CollateralError {
  const { status, url } = response;
  const isLater = status === 429 || status >= 500;
  const unnamed = { expected: 'a release', got: `status ${status}`, rule: 'key broker API' };
  const { code, detail } = refusalOf(problem, { code: isLater ? 'BROKER_UNREACHABLE' : 'BROKER_REFUSED', ...unnamed });
  const isOwn = code.startsWith('BROKER_');
  if (code === 'BROKER_UNREACHABLE' && isLater && problem.code === undefined) return busy(unreachable(url, detail.got));
  if (/^NONCES?_/.test(code)) return busy({ code, detail });
  const foreign = { ...detail, got: `${code}: ${detail.got}` };
  if (isLater) return busy(isOwn ? { code, detail } : { code: 'BROKER_BUSY', detail: foreign });
  return isOwn ? new Rejection(code, detail) : new Rejection('BROKER_REFUSED', foreign);

  function busy({ code: named, detail: said }: Pick<CollateralError, 'code' | 'detail'>): CollateralError {
    const error = new BrokerBusy(named, said);
    error.retryAfterMs = retryAfterMs(response.headers.get('retry-after'), Date.now());
    return error;
  }
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
export function publicPart(answer: BrokerRelease, appraisals: readonly AttestorAppraisal[] = []) {
  const { release, releaseSignature, result, resultSignature, logged: shown } = answer;
  return {
    release: structJson(release),
    releaseSignature: to0x(releaseSignature),
    ...{ result: Buffer.from(result).toString('base64'), resultSignature: to0x(resultSignature) },
    appraisals: appraisals.map(({ appraisal: { evidence, notAfter }, appraisalSignature }) => ({
      ...{ evidence: to0x(evidence), notAfter, signature: to0x(appraisalSignature) },
    })),
    ...(shown !== undefined && { logged: shown }),
  };
}

function structJson(struct: Release): Record<string, string | number> {
  const members = Object.entries(struct) as [string, Uint8Array | number][];
  return Object.fromEntries(members.map(([name, value]) => [name, typeof value === 'number' ? value : to0x(value)]));
}
