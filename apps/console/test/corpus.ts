/** The corpus: bundles by every party's real code, altered in one place each, and what a reader is to see of them. */
import { readFileSync } from 'node:fs';
import { neutralPolicy, parseCertificate, type AppraisalPolicy } from '#attestation';
import { decodeCanonical, encodeCanonical, to0x, utf8, type CborValue } from '#attestation/base';
import {
  encodeBundle,
  encodeSessionEvidence,
  parseBundle,
  parseSessionEvidence,
  type BundledLog,
  type EvidenceBundle,
} from '#attestation/records';
import { startBorder, type HeadingId } from '#libs/review';
import { canonicalManifest, drawnParameters, encodeWeights, startRoot } from '#libs/step';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { fixturePath } from '#test/fixture';
import { fakeAmd } from '#test/fake-amd';
import { exportOf, honestEntries, logOf, trustText } from '#test/logged-bundle';
import { tableNet } from '#test/net-job';
import { provedBundle } from '#test/proved-bundle';
import { recordedBundles } from '#test/recorded-bundle';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyAt, tinyJob, type TinyJob } from '#test/tiny-job';
import type { LinkState, ShownLink } from '../src/reviewer/links.js';
import { flipped } from './parts.js';

export interface Sample {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly heading: HeadingId;
  /** Links that are broken, in order. */
  readonly broken?: readonly ShownLink[];
  /** States that a reader must see, beside those that are broken. */
  readonly states?: Partial<Record<ShownLink, LinkState>>;
  /** Of a file that is no bundle. */
  readonly code?: string;
  /** What must stand on the page, letter by letter. */
  readonly shows?: string;
  /** What lies beside it: material, a policy, a Groth16 key. */
  readonly beside?: readonly BesideFile[];
  /** Unix seconds of the other judgement; the present where absent. */
  readonly at?: number;
  /** Heading as of the other time, where it is another one. */
  readonly later?: HeadingId;
}

interface BesideFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly kind: 'material' | 'policy' | 'groth16-key' | 'log-export' | 'start';
  /** Of a Groth16 key: how the command line is told of it. */
  readonly digest?: string;
}

export const htmlInText = '<img src=x onerror=alert(1)>';

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
  const honest = await honestEntries(job, bundle);
  const withLog = (log: BundledLog): Uint8Array => encodeBundle({ ...bundle, log });
  const whole = logOf(honest);
  const [first, ...others] = whole.entries;
  const moved = first!.proof.replace(/^index \d+$/m, 'index 1');
  const trust = { name: 'trust-policy.txt', bytes: utf8(trustText), kind: 'material' } as const;
  const logged = { heading: 'simulated', states: { ...good, log: 'remark' } } as const;
  const revokedSince = (id: Uint8Array): Promise<Uint8Array> =>
    exportOf([{ what: 'policy', id, salt: null, reason: 'lost', from: 0 }]);
  const exported = async (name: string, id: Uint8Array): Promise<BesideFile> => {
    return { name, bytes: await revokedSince(id), kind: 'log-export' };
  };
  return [
    { name: 'logged', bytes: withLog(whole), ...logged },
    { name: 'logged-and-trusted', bytes: withLog(whole), ...logged, beside: [trust] },
    {
      ...{ name: 'revoked-in-export', bytes: withLog(whole), ...logged, at: tinyAt, later: 'do-not-rely' },
      beside: [trust, await exported('revoked.log', job.spec.policyDigest)],
    },
    {
      ...{ name: 'not-revoked-in-export', bytes: withLog(whole), ...logged, at: tinyAt },
      beside: [trust, await exported('other.log', new Uint8Array(32))],
    },
    {
      ...{ name: 'revoked-and-not-logged', bytes: encodeBundle(bundle), heading: 'not-decided', at: tinyAt },
      ...{ later: 'do-not-rely', beside: [trust, await exported('revoked.log', job.spec.policyDigest)] },
    },
    {
      ...{ name: 'log-without-quorum', bytes: withLog(logOf(honest, { isCosigned: false })) },
      ...{ heading: 'do-not-rely', broken: ['log'], beside: [trust] },
    },
    {
      ...{ name: 'log-path-forged', bytes: withLog({ ...whole, entries: [{ ...first!, proof: moved }, ...others] }) },
      ...{ heading: 'do-not-rely', broken: ['log'] },
    },
    {
      name: 'log-of-another-job',
      bytes: withLog(logOf(await honestEntries(foreign.job, foreign.bundle))),
      ...{ heading: 'do-not-rely', broken: ['log'], states: { seal: 'holds' } },
    },
  ];
}

/** Its manifest names weights to start from: given, not given, and others than those. */
async function startedSamples(): Promise<Sample[]> {
  const seeded = tableNet({ steps: 20, evaluate: { every: 4, metrics: ['accuracy', 'loss'] } });
  const drawn = drawnParameters(seeded);
  const start = { kind: 'weights', root: to0x(startRoot(seeded, drawn)) };
  const named = tableNet({ steps: 20, evaluate: { every: 4, metrics: ['accuracy', 'loss'] }, start });
  const manifest = canonicalManifest(named);
  const { spec } = await tinyJob({ spec: { manifest } });
  const { bundle } = await evaluatedBundle({
    ...{ every: 4, accuracies: [700, 800, 900, 950, 940], manifest },
    initialWeights: startBorder({ spec }, encodeWeights(drawn)),
  });
  const bytes = encodeBundle(bundle);
  const of = (file: Uint8Array): BesideFile[] => [{ name: 'start.bin', bytes: file, kind: 'start' }];
  const other = encodeWeights(drawnParameters(tableNet({ seed: `0x${'77'.repeat(32)}` })));
  return [
    { name: 'start-not-given', bytes, heading: 'simulated', shows: 'whether the start weights are those' },
    { name: 'start-given', bytes, heading: 'simulated', beside: of(encodeWeights(drawn)) },
    { name: 'start-of-others', bytes, heading: 'do-not-rely', beside: of(other) },
  ];
}

/**
 * Their manifest declares evaluations and no net: where such a job starts nobody can compute. In two of them evaluations
 * have not the metrics of the first: nothing stops who makes a file from signing them.
 */
async function evaluatedSamples(): Promise<Sample[]> {
  const measured = { every: 4, accuracies: [700, 800, 900, 950, 940] };
  const { bundle } = await evaluatedBundle(measured);
  const cut = async (at: number, left: number): Promise<Uint8Array> => {
    const change: Parameters<typeof evaluatedBundle>[0]['change'] = (statement, index) =>
      index === at ? { ...statement, metrics: statement.metrics.slice(0, left) } : statement;
    return encodeBundle((await evaluatedBundle({ ...measured, change })).bundle);
  };
  const refused = { heading: 'do-not-rely', broken: ['receipts'] } as const;
  return [
    { name: 'evaluated', bytes: encodeBundle(bundle), ...refused, shows: 'not accepted' },
    { name: 'fewer-metrics', bytes: await cut(2, 1), ...refused, shows: 'not measured' },
    { name: 'no-metrics-last', bytes: await cut(4, 0), ...refused, shows: 'not measured' },
  ];
}

/** The same bundle, with what a reader has beside it, and in other years. */
async function besideSamples(job: TinyJob, bytes: Uint8Array): Promise<Sample[]> {
  const amd = fakeAmd('milan');
  const { serial } = parseCertificate(amd.vendor.ask);
  const dates = { thisUpdate: tinyAt - 60, nextUpdate: tinyAt + 3600 };
  const of = (name: string, file: Uint8Array): BesideFile[] => [{ name, bytes: file, kind: 'material' }];
  const policy = (name: string, change: Partial<AppraisalPolicy>): BesideFile[] => [
    { name, bytes: utf8(JSON.stringify({ ...job.policy, ...change })), kind: 'policy' },
  ];
  const fresh = { bytes, heading: 'simulated', at: tinyAt } as const;
  return [
    { ...fresh, name: 'expired', at: 4_000_000_000, later: 'do-not-rely' },
    {
      ...{ ...fresh, name: 'revoked', later: 'do-not-rely' },
      beside: of('revoking.crl', await amd.crl({ ...dates, revokedSerials: [serial] })),
    },
    { ...fresh, name: 'not-revoked', beside: of('current.crl', await amd.crl(dates)) },
    {
      ...{ ...fresh, name: 'revocation-demanded', heading: 'not-decided', states: { chip: 'unknown' } },
      beside: policy('demanding.json', { snp: { ...job.policy.snp, revocation: 'required' } }),
    },
    { ...fresh, name: 'own-policy', beside: policy('mine.json', { id: 'example:mine' }) },
    {
      ...{ ...fresh, name: 'production-policy', heading: 'do-not-rely', later: 'do-not-rely' },
      beside: policy('production.json', { ...neutralPolicy, id: 'example:production' }),
    },
  ];
}

async function provedSamples(): Promise<Sample[]> {
  const bytes = await provedBundle('zk');
  const { segments, ...rest } = parseBundle(bytes) as EvidenceBundle;
  const [first, ...others] = segments;
  const proof = { ...first!.proof!, bytes: flipped(first!.proof!.bytes, first!.proof!.bytes.length >> 1) };
  const holds = { proof: 'holds', receipts: 'holds', seal: 'holds', payment: 'absent' } as const;
  return [
    { name: 'proved', bytes, heading: 'verified-with-remarks', states: { ...holds, proof: 'remark' } },
    {
      name: 'html-in-proof',
      bytes: encodeBundle({
        ...rest,
        segments: [{ ...first!, proof: { ...first!.proof!, document: htmlInText } }, ...others],
      }),
      ...{ heading: 'do-not-rely', broken: ['proof'], shows: htmlInText },
    },
    {
      name: 'proof-altered',
      bytes: encodeBundle({ ...rest, segments: [{ ...first!, proof }, ...others] }),
      ...{ heading: 'do-not-rely', broken: ['proof'], states: { seal: 'unsupported' } },
    },
  ];
}

/** Real evidence of another machine: its vendor and chip hold, and the session does not hang on them. */
const ofRecorded = {
  'recorded-tdx': { broken: ['session'], states: { root: 'holds', chip: 'holds', seal: 'unsupported' } },
  'recorded-gpu': { broken: ['session'], states: { root: 'remark', chip: 'remark' } },
  'recorded-snp': { broken: ['chip', 'code', 'session'], states: { root: 'holds', firmware: 'unsupported' } },
} as const satisfies Record<string, Pick<Sample, 'broken' | 'states'>>;

export async function corpus(): Promise<readonly Sample[]> {
  const { bundle, encoded, job } = await tinyBundle();
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
    ...(await besideSamples(job, encoded)),
    ...(await startedSamples()),
    ...(await provedSamples()),
    ...recordedBundles(bundle).map((one): Sample => ({ ...one, heading: broken, ...ofRecorded[one.name] })),
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
    ...(await evaluatedSamples()),
    { name: 'version-1', bytes: fixture('former-bundles/version-1'), heading: 'simulated' },
    { name: 'version-2', bytes: fixture('former-bundles/version-2'), heading: broken },
    { name: 'version-3', bytes: fixture('former-bundles/version-3'), heading: 'simulated' },
    ...[
      { name: 'truncated', bytes: encoded.subarray(0, encoded.length - 40), code: 'CBOR_MALFORMED' },
      { name: 'not-cbor', bytes: Uint8Array.from({ length: 64 }, (_, at) => 255 - at), code: 'CBOR_MALFORMED' },
      { name: 'empty', bytes: new Uint8Array(), code: 'CBOR_MALFORMED' },
      { name: 'deep', bytes: new Uint8Array(100_000).fill(0x81), code: 'CBOR_DEPTH' },
      { name: 'endless', bytes: Uint8Array.of(0xbb, 0, 0, 0, 255, 255, 255, 255, 255), code: 'CBOR_MALFORMED' },
      { name: 'version-9', bytes: reissued(encoded, 9), code: 'BUNDLE_VERSION' },
    ].map((sample) => ({ ...sample, heading: 'not-a-bundle' as const })),
  ];
}
