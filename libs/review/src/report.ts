/**
 * A verdict as a document to keep: what was judged, by what, as of when, and every check. JSON in the form of RFC 8785, so
 * that a page and the command line write the same bytes; signed, those bytes are the payload of a COSE_Sign1 (`.vtr`).
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { BundleVerdict, Check } from '#attestation';
import {
  ConfigurationError,
  ed25519Signer,
  equalBytes,
  fromUtf8,
  readSign1,
  Rejection,
  signSign1,
  toHex,
  utf8,
  verifySign1,
} from '#attestation/base';
import { headingOf, headings } from './heading.js';
import { derOf } from './key-file.js';
import { reportBytesMax } from './limits.js';

const reportContentType = 'application/veritrain-report+json';
const rule = 'libs/review/README.md';

/** Who made a report: the page names the digest of its own script. */
export interface Reviewer {
  readonly name: 'veritrain' | 'veritrain reviewer';
  readonly version: string;
  readonly scriptSha256: string | null;
}

/** A judgement as of one time. */
interface ReportedJudgement {
  /** Unix seconds; null: each session as of when its evidence was fresh. */
  readonly at: number | null;
  /** Of the policy it was judged by, hexadecimal; null: no session was judged. */
  readonly policySha256: string | null;
  readonly material: BundleVerdict['material'];
  readonly heading: string;
  readonly tier: BundleVerdict['tier'];
  readonly simulated: boolean;
  readonly notChecked: readonly string[];
  readonly checks: readonly Pick<Check, 'id' | 'code' | 'status' | 'got' | 'expected' | 'subject'>[];
}

export interface Report {
  readonly version: 1;
  readonly bundle: { readonly sha256: string; readonly bytes: number };
  readonly jobId: string;
  readonly datasetRoot: string;
  readonly result: string;
  readonly steps: number;
  readonly reviewer: Reviewer;
  readonly judgements: readonly ReportedJudgement[];
}

interface Judged {
  readonly at: number | null;
  readonly verdict: BundleVerdict;
}

/** @param judged at least one, of the same bundle */
export function makeReport(bundle: Uint8Array, judged: readonly [Judged, ...Judged[]], reviewer: Reviewer): Report {
  const { jobId, datasetRoot, result, steps } = judged[0].verdict;
  return {
    version: 1,
    bundle: { sha256: toHex(sha256(bundle)), bytes: bundle.length },
    ...{ jobId, datasetRoot, result, steps, reviewer },
    judgements: judged.map(judgementOf),
  };
}

function judgementOf({ at, verdict }: Judged): ReportedJudgement {
  const { tier, simulated, notChecked, material, checks, sessions } = verdict;
  return {
    at,
    policySha256: sessions[0]?.policyDigest ?? null,
    ...{ material, heading: headings[headingOf(verdict)], tier, simulated, notChecked },
    checks: checks.map(({ id, code, status, got, expected, subject }) => ({
      ...{ id, code, status, got, expected },
      ...(subject !== undefined && { subject }),
    })),
  };
}

/** The bytes of `report.json`. */
export function encodeReport(report: Report): Uint8Array {
  return utf8(`${canonicalJson(report)}\n`);
}

/** Whole numbers, strings, booleans and null alone. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}

const pkcs8Ed25519 = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20);

/** @param file PKCS #8 of an Ed25519 key, DER or PEM @returns 32 bytes @throws ConfigurationError REPORT_KEY */
export function readSigningKey(file: Uint8Array): Uint8Array {
  const der = derOf(file);
  if (der.length === 48 && equalBytes(der.subarray(0, 16), pkcs8Ed25519)) return der.slice(16);
  throw new ConfigurationError('REPORT_KEY', {
    expected: 'a PKCS #8 file of an Ed25519 key, DER or PEM, without password',
    got: `${file.length} bytes of another`,
    rule: 'RFC 8410 §7',
    action: 'make one: openssl genpkey -algorithm ed25519 -out report-key.pem',
  });
}

/** @param report the bytes of `report.json` @param key Ed25519, 32 bytes; its public half names the signer */
export function signReport(report: Uint8Array, key: Uint8Array): Promise<Uint8Array> {
  const keyId = ed25519.getPublicKey(key);
  return signSign1({ algorithm: 'EdDSA', contentType: reportContentType, keyId }, report, ed25519Signer(key));
}

interface SignedReport {
  readonly report: Report;
  readonly bytes: Uint8Array;
  /** Ed25519, 32 bytes: whoever relies on the report knows whose it is. */
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

/**
 * That the key which the report names signed it; whose key that is, the reader must know.
 *
 * @throws Rejection COSE_*, CBOR_*, REPORT_SIGNER, REPORT_SIZE, REPORT_SHAPE
 */
export async function openReport(signed: Uint8Array): Promise<SignedReport> {
  const message = readSign1(signed, 'tagged');
  const { keyId, signature } = message;
  if (keyId?.length !== 32) throw rejected('REPORT_SIGNER', 'the signer’s key of 32 bytes', `${keyId?.length ?? 0}`);
  const bytes = await verifySign1(message, { algorithm: 'EdDSA', publicKey: keyId, contentType: reportContentType });
  return { report: parseReport(bytes), bytes, signer: keyId, signature };
}

/** @throws Rejection REPORT_SIZE, REPORT_SHAPE where it is not what `encodeReport` writes */
export function parseReport(bytes: Uint8Array): Report {
  if (bytes.length > reportBytesMax) {
    throw rejected('REPORT_SIZE', `at most ${reportBytesMax} bytes`, `${bytes.length}`);
  }
  const report = jsonOf(bytes) as Partial<Report> | undefined;
  const isWhole =
    report?.version === 1 &&
    typeof report.bundle?.sha256 === 'string' &&
    Array.isArray(report.judgements) &&
    report.judgements.length > 0 &&
    report.judgements.every((one) => one !== null && typeof one === 'object' && Array.isArray(one.checks));
  if (!isWhole || !equalBytes(encodeReport(report as Report), bytes)) {
    throw rejected('REPORT_SHAPE', 'a report of version 1 in canonical JSON', 'another document');
  }
  return report as Report;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes));
  } catch {
    return undefined;
  }
}

/** Where a report and a judgement made anew part; none where they agree. Who made it may differ. */
export function differencesOf(report: Report, again: Report): readonly string[] {
  const differing: string[] = [];
  for (const name of ['bundle', 'jobId', 'datasetRoot', 'result', 'steps'] as const) {
    if (canonicalJson(report[name]) !== canonicalJson(again[name])) differing.push(name);
  }
  const count = Math.max(report.judgements.length, again.judgements.length);
  for (let index = 0; index < count; index++) {
    const [was, is] = [report.judgements[index], again.judgements[index]];
    if (canonicalJson(was ?? null) === canonicalJson(is ?? null)) continue;
    const isSame = canonicalJson(essenceOf(was)) === canonicalJson(essenceOf(is));
    differing.push(`judgements[${index}]${isSame ? ' in words alone, as where another release judged' : ''}`);
  }
  return differing;
}

/** What a judgement comes to, without the words in which its checks say so. */
function essenceOf(judgement: ReportedJudgement | undefined): unknown {
  if (judgement === undefined) return null;
  const { checks, ...verdict } = judgement;
  return { ...verdict, notChecked: null, checks: checks.map(({ id, code, status }) => ({ id, code, status })) };
}

function rejected(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule });
}
