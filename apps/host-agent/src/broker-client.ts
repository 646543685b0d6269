/** The data owner's key broker, as a host asks it on behalf of an enclave. */
import { z } from 'zod';
import { CollateralError, fromHex, Rejection, toHex, type Appraisal, type Release } from '#attestation';
import { readBody, readProblem } from './body.js';

export interface BrokerRelease {
  readonly sealedKey: Uint8Array;
  readonly release: Release;
  readonly releaseSignature: Uint8Array;
  readonly appraisal: Appraisal;
  readonly appraisalSignature: Uint8Array;
  /** Account that signed both, 20 bytes. */
  readonly account: Uint8Array;
  /** The broker's attestation result, EAR in COSE. */
  readonly result: Uint8Array;
}

export interface BrokerClient {
  challenge(jobId: string): Promise<Uint8Array>;
  release(request: { spec: Uint8Array; terms: Uint8Array; evidence: Uint8Array }): Promise<BrokerRelease>;
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
const ReleaseAnswer = z.object({
  sealedKey: base64,
  account: hex(20),
  release: z.object({ job: hex(32), enclaveKey: hex(32), shardsDigest: hex(32) }),
  releaseSignature: hex(65),
  appraisal: z.object({ key: hex(20), policy: hex(32), provider: hex(20), evidence: hex(32), notAfter: z.int() }),
  appraisalSignature: hex(65),
  result: base64,
});

const attempts = 6;
const answerWithinMs = 15_000;
const firstPauseMs = 200;
const answerBytesMax = 2 * 1024 * 1024;

export function createBrokerClient(url: string): BrokerClient {
  async function post<S extends z.ZodType>(path: string, body: unknown, answer: S): Promise<z.infer<S>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await once(`${url}/v1/${path}`, body);
      if (!(outcome instanceof CollateralError)) return shaped(answer, outcome);
      if (attempt === attempts) throw outcome;
      await new Promise((resolve) => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)));
    }
  }
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  return {
    challenge: async (jobId) => (await post('challenges', { jobId }, Challenge)).nonce,
    release: ({ spec, terms, evidence }) =>
      post('releases', { spec: text(spec), terms: text(terms), evidence: text(evidence) }, ReleaseAnswer),
  };
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
    if (response.ok) return JSON.parse(Buffer.from(await readBody(response, answerBytesMax)).toString('utf8'));
  } catch (error) {
    if (error instanceof Rejection) throw error;
    return unreachable(url, error instanceof Error ? error.message : String(error));
  }
  if (response.status >= 500) return unreachable(url, `status ${response.status}`);
  const problem = await readProblem(response);
  throw new Rejection(problem.code ?? 'BROKER_REFUSED', {
    expected: problem.expected ?? 'a release',
    got: problem.got ?? `status ${response.status}`,
    rule: problem.rule ?? 'key broker API',
    ...(problem.action && { action: problem.action }),
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
