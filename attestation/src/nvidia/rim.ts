/**
 * Judges one signed reference manifest: form, chain to the pinned RIM root, signature over the whole document, dates.
 * The dates are judged apart from the rest: an expired signer is stale material, not a forgery.
 */
import { CollateralError, Rejection } from '../base/errors.js';
import type { CheckStatus } from '../check/checks.js';
import { parseCertificate, type Certificate } from '../x509/certificate.js';
import { verifyPath } from '../x509/path.js';
import { rimsMax } from './constants.js';
import { parseManifest, type Manifest } from './manifest.js';
import { verifyEnveloped } from './xmldsig.js';

interface Outcome {
  readonly status: CheckStatus;
  readonly got: string;
  readonly expected?: string;
}

interface RimRequest {
  readonly pool: readonly Certificate[];
  readonly rootSpkiSha256: ReadonlySet<string>;
  /** Unix seconds. */
  readonly at: number;
  /** Seconds that the policy tolerates past the end of the signer's validity. */
  readonly graceSeconds: number;
}

export const rimAspects = ['FORM', 'ISSUER', 'SIGNATURE', 'NOT_YET_VALID', 'EXPIRED'] as const;
export type RimAspect = (typeof rimAspects)[number];

export interface RimJudgement {
  /** Present when it could be read; authentic or not. */
  readonly manifest?: Manifest;
  readonly outcomes: ReadonlyMap<RimAspect, Outcome>;
  /** Form, issuer and signature hold. */
  readonly authentic: boolean;
  /** Leaf first, pinned root last; empty unless the path holds. */
  readonly path: readonly Certificate[];
  /** When every certificate of the path is inside its validity, Unix seconds. */
  readonly validity?: { readonly notBefore: number; readonly notAfter: number };
}

export interface RimFile {
  /** Absent when the file could not be read. */
  readonly manifest?: Manifest;
  /** KeyInfo's certificates, signer first. */
  readonly chain: readonly Certificate[];
  readonly form: Outcome;
}

/** Manifests, each read once, and none before somebody asks. */
export type RimReader = () => Promise<readonly RimFile[]>;

/** @param rims XML files */
export function rimReader(rims: readonly Uint8Array[]): RimReader {
  let read: Promise<readonly RimFile[]> | undefined;
  return () => (read ??= Promise.all(rims.slice(0, rimsMax).map(readRim)));
}

export async function readRim(rim: Uint8Array): Promise<RimFile> {
  const read = await attempt(() => {
    const manifest = parseManifest(rim);
    return { manifest, chain: manifest.signature.certificates.map(parseCertificate) };
  });
  return { chain: [], ...read.value, form: read.outcome };
}

export async function judgeRim(file: RimFile, request: RimRequest): Promise<RimJudgement> {
  const outcomes = new Map<RimAspect, Outcome>([['FORM', file.form]]);
  const { manifest, chain } = file;
  if (manifest === undefined) return { outcomes, authentic: false, path: [] };
  const [issuer, signed] = await Promise.all([
    attempt(() => rimPath(chain, request)),
    attempt(() => verifyEnveloped(manifest.signature, chain[0]!.spki)),
  ]);
  outcomes.set('ISSUER', issuer.outcome);
  outcomes.set('SIGNATURE', signed.outcome);
  const path = issuer.value ?? [];
  if (path.length === 0) return { manifest, outcomes, authentic: false, path };
  const notBefore = Math.max(...path.map((certificate) => certificate.notBefore));
  const notAfter = Math.min(...path.map((certificate) => certificate.notAfter));
  const early = request.at < notBefore;
  const late = request.at > notAfter + request.graceSeconds ? 'missing' : request.at > notAfter ? 'warned' : 'met';
  outcomes.set('NOT_YET_VALID', {
    status: early ? 'missing' : 'met',
    got: `${notBefore}`,
    expected: `≤ ${request.at}`,
  });
  outcomes.set('EXPIRED', { status: late, got: `${notAfter}`, expected: `≥ ${request.at}` });
  return { manifest, outcomes, authentic: signed.outcome.status === 'met', path, validity: { notBefore, notAfter } };
}

/** Judged at a time when no certificate of the manifest is too young, and without an end. */
async function rimPath(chain: readonly Certificate[], request: RimRequest): Promise<readonly Certificate[]> {
  const { certificates } = await verifyPath({
    leaf: chain[0]!,
    pool: [...chain.slice(1), ...request.pool],
    rootSpkiSha256: request.rootSpkiSha256,
    at: Math.max(request.at, ...[...chain, ...request.pool].map((certificate) => certificate.notBefore)),
    graceSeconds: Number.MAX_SAFE_INTEGER,
  });
  // Whatever else stood beside the path, nobody would look at it.
  if (chain.some((certificate, at) => certificate !== certificates[at])) {
    throw new Rejection('NVIDIA_RIM_CHAIN', {
      expected: 'the signer, then each issuer, and nothing else',
      got: `${chain.length} certificates of a path of ${certificates.length}`,
      rule: 'attestation/EVIDENCE.md §3.5',
    });
  }
  return certificates;
}

async function attempt<T>(step: () => T | Promise<T>): Promise<{ readonly value?: T; readonly outcome: Outcome }> {
  try {
    return { value: await step(), outcome: { status: 'met', got: 'holds' } };
  } catch (error) {
    if (!(error instanceof Rejection) && !(error instanceof CollateralError)) throw error;
    const { expected, got } = error.detail;
    return { outcome: { status: 'forged', got: `${error.code}: ${got}`, expected } };
  }
}
