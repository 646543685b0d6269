/** The corpus: bundles by every party's real code, altered in one place each, and what a reader is to see of them. */
import { readFileSync } from 'node:fs';
import { decodeCanonical, encodeCanonical, type CborValue } from '#attestation/base';
import { encodeBundle, encodeSessionEvidence, parseSessionEvidence, type EvidenceBundle } from '#attestation/records';
import type { HeadingId } from '#libs/review';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { fixturePath } from '#test/fixture';
import { honestEntries, logOf } from '#test/logged-bundle';
import { tinyBundle } from '#test/tiny-bundle';
import type { TinyJob } from '#test/tiny-job';
import type { LinkId, LinkState } from '../src/reviewer/links.js';

export interface Sample {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly heading: HeadingId;
  /** Links that are broken, in order. */
  readonly broken?: readonly LinkId[];
  /** States that a reader must see, beside those that are broken. */
  readonly states?: Partial<Record<LinkId, LinkState>>;
  /** Of a file that is no bundle. */
  readonly code?: string;
  /** What must stand on the page, letter by letter. */
  readonly shows?: string;
}

export const htmlInText = '<img src=x onerror=alert(1)>';

const flipped = (bytes: Uint8Array, place: number): Uint8Array => {
  const changed = bytes.slice();
  changed.at(place);
  changed[place < 0 ? changed.length + place : place]! ^= 1;
  return changed;
};

/** Where MEASUREMENT begins in a report: AMD 56860, ATTESTATION_REPORT. */
const measurementAt = 0x90;

function remeasured(bundle: EvidenceBundle): EvidenceBundle {
  const sessions = bundle.sessions.map((session) => {
    const evidence = parseSessionEvidence(session.evidence);
    const cpu = { ...evidence.cpu, report: flipped(evidence.cpu.report, measurementAt) };
    return { ...session, evidence: encodeSessionEvidence({ ...evidence, cpu }) };
  });
  return { ...bundle, sessions };
}

function reissued(encoded: Uint8Array, version: number): Uint8Array {
  const members = new Map(decodeCanonical(encoded) as ReadonlyMap<CborValue, CborValue>);
  return encodeCanonical(members.set('version', version));
}

const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(fixturePath(`${name}.cbor`)));

const remarks = { root: 'remark', chip: 'remark', firmware: 'remark' } as const;
const good = {
  ...remarks,
  code: 'remark',
  session: 'holds',
  receipts: 'holds',
  seal: 'holds',
  log: 'absent',
  payment: 'absent',
} as const;

async function loggedSamples(job: TinyJob, bundle: EvidenceBundle): Promise<Sample[]> {
  const foreign = await tinyBundle({ spec: { salt: new Uint8Array(32) } });
  const withLog = async (...of: Parameters<typeof honestEntries>): Promise<Uint8Array> =>
    encodeBundle({ ...bundle, log: logOf(await honestEntries(...of)) });
  return [
    { name: 'logged', bytes: await withLog(job, bundle), heading: 'simulated', states: { ...good, log: 'remark' } },
    {
      name: 'log-of-another-job',
      bytes: await withLog(foreign.job, foreign.bundle),
      ...{ heading: 'do-not-rely', broken: ['log'], states: { seal: 'holds' } },
    },
  ];
}

export async function corpus(): Promise<readonly Sample[]> {
  const { bundle, encoded, job } = await tinyBundle();
  // Its manifest declares evaluations and no net: where such a job starts nobody can compute.
  const { bundle: evaluated } = await evaluatedBundle({ every: 4, accuracies: [700, 800, 900, 950, 940] });
  const [first, second, ...rest] = bundle.segments;
  const called = (call: string): EvidenceBundle => ({
    ...bundle,
    settlement: { transactions: [{ call, hash: new Uint8Array(32) }] },
  });
  const prolonged = bundle.sessions.map((session) => ({
    ...session,
    grant: { ...session.grant, notAfter: session.grant.notAfter + 600 },
  }));
  const bent = { ...second!, signed: { ...second!.signed!, receipt: flipped(second!.signed!.receipt, -1) } };
  const broken = 'do-not-rely';
  return [
    { name: 'good', bytes: encoded, heading: 'simulated', states: good },
    ...(await loggedSamples(job, bundle)),
    {
      name: 'seal-altered',
      bytes: encodeBundle({ ...bundle, seal: { ...bundle.seal!, bytes: flipped(bundle.seal!.bytes, 20) } }),
      ...{ heading: broken, broken: ['seal'], states: { receipts: 'holds' } },
    },
    {
      name: 'receipt-altered',
      bytes: encodeBundle({ ...bundle, segments: [first!, bent, ...rest] }),
      ...{ heading: broken, broken: ['receipts'], states: { session: 'holds', seal: 'unsupported' } },
    },
    {
      name: 'segment-removed',
      bytes: encodeBundle({ ...bundle, segments: bundle.segments.slice(0, -1) }),
      ...{ heading: broken, broken: ['receipts', 'seal'] },
    },
    {
      name: 'measurement-altered',
      bytes: encodeBundle(remeasured(bundle)),
      ...{ heading: broken, broken: ['chip', 'session'] },
    },
    {
      name: 'appraisal-prolonged',
      bytes: encodeBundle({ ...bundle, sessions: prolonged }),
      ...{ heading: broken, broken: ['session'], states: { receipts: 'unsupported', seal: 'unsupported' } },
    },
    { name: 'html-in-text', bytes: encodeBundle(called(htmlInText)), heading: 'simulated', shows: htmlInText },
    {
      name: 'turned-text',
      bytes: encodeBundle(called('pay\u202Eeerf')),
      heading: 'simulated',
      shows: 'pay⟨U+202E⟩eerf',
    },
    { name: 'rounds', bytes: fixture('bundles/version-4-rounds'), heading: 'simulated', shows: 'workers' },
    { name: 'proof-forged', bytes: fixture('bundles/version-4-proved'), heading: broken },
    { name: 'evaluated', bytes: encodeBundle(evaluated), heading: broken, broken: ['receipts'], shows: 'not accepted' },
    { name: 'version-1', bytes: fixture('former-bundles/version-1'), heading: 'simulated' },
    { name: 'version-2', bytes: fixture('former-bundles/version-2'), heading: broken },
    { name: 'version-3', bytes: fixture('former-bundles/version-3'), heading: 'simulated' },
    ...[
      { name: 'truncated', bytes: encoded.subarray(0, encoded.length - 40), code: 'CBOR_MALFORMED' },
      { name: 'not-cbor', bytes: Uint8Array.from({ length: 64 }, (_, at) => 255 - at), code: 'CBOR_MALFORMED' },
      { name: 'empty', bytes: new Uint8Array(), code: 'CBOR_MALFORMED' },
      { name: 'version-9', bytes: reissued(encoded, 9), code: 'BUNDLE_VERSION' },
    ].map((sample) => ({ ...sample, heading: 'not-a-bundle' as const })),
  ];
}
