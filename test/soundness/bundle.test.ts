/** Whatever is changed in a bundle turns its verdict, and what is not bound is listed. */
import { describe, expect, it } from 'vitest';
import { encodeDocument, verifyBundle, type BundleVerdict, type Check } from '#attestation';
import { CodedError, decodeCanonical, encodeCanonical, type CborValue } from '#attestation/base';
import {
  domainSeparator,
  encodeBundle,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  parseBundle,
  parseSessionEvidence,
  parseStepStatement,
  runDigest,
  runKeysDigest,
  signReceipt,
  teeSelector,
  type EvidenceBundle,
  type StepStatement,
} from '#attestation/records';
import { fakeAmd } from '#test/fake-amd';
import { lawfulSession } from '#test/lawful-session';
import { shownSession, tinyBundle } from '#test/tiny-bundle';
import { chainId, contract, tinyAt } from '#test/tiny-job';
import { grantTo } from '#test/tiny-release';
import { bundleRules } from '../../attestation/src/verdict/bundle-rules.js';
import { affirmedOf, mutants } from './mutants.js';

const { bundle, encoded, job } = await tinyBundle();
const foreign = await tinyBundle({ spec: { salt: new Uint8Array(32) } });

type Verifier = (bundle: Uint8Array) => Promise<Pick<BundleVerdict, 'tier' | 'checks'>>;
/** Simulated hardware is a warning, and what a file alone cannot show is no reason against it. */
const isUnmet = ({ code, status }: Check): boolean =>
  status !== 'met' && status !== 'warned' && code !== 'BUNDLE_TRANSACTIONS';

const verifier: Verifier = (bytes) => verifyBundle({ bundle: bytes, policy: job.policy });

/** The code that refuses, or null where the bundle still affirms. Anything but a coded error is a crash. */
async function refusedBy(bytes: Uint8Array, verify: Verifier = verifier): Promise<string | null> {
  try {
    const { tier, checks } = await verify(bytes);
    if (tier === 'affirming' || tier === 'warning') return null;
    return checks.find(isUnmet)!.code;
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}

/** A change of one leaf: its path, what was done, and the whole with it. */
type Tamper = readonly [path: string, value: CborValue];

/** Byte strings that are messages of their own: their leaves are leaves too. */
const nested = /^\.(spec|policy|sessions\[\d\]\.evidence)$/;

/** Every leaf of a decoded message, changed; and every list with an item fewer, twice and in another order. */
function* tampers(value: CborValue, path = ''): Generator<Tamper> {
  if (value instanceof Map) {
    for (const [key, item] of value as ReadonlyMap<CborValue, CborValue>) {
      for (const [at, changed] of tampers(item, `${path}.${String(key)}`)) {
        yield [at, new Map([...(value as Map<CborValue, CborValue>)].map(([k, v]) => [k, k === key ? changed : v]))];
      }
    }
  } else if (Array.isArray(value)) {
    yield* listTampers(value as readonly CborValue[], path);
  } else if (value instanceof Uint8Array) {
    yield* byteTampers(value, path);
  } else if (typeof value === 'number' || typeof value === 'bigint') {
    yield [path, Number(value) + 1];
    if (Number(value) > 0) yield [path, Number(value) - 1];
  } else if (typeof value === 'string') {
    yield [path, `${value}x`];
    yield [path, ''];
  } else if (typeof value === 'boolean') yield [path, !value];
}

function* listTampers(items: readonly CborValue[], path: string): Generator<Tamper> {
  for (const [index, item] of items.entries()) {
    for (const [at, changed] of tampers(item, `${path}[${index}]`)) yield [at, items.with(index, changed)];
    yield [`${path}[${index}] removed`, items.toSpliced(index, 1)];
    yield [`${path}[${index}] twice`, items.toSpliced(index, 0, item)];
  }
  if (items.length > 1) yield [`${path} reversed`, items.toReversed()];
}

function* byteTampers(bytes: Uint8Array, path: string): Generator<Tamper> {
  const count = Math.min(bytes.length, 4);
  for (let i = 0; i < count; i++) {
    const at = Math.floor((i * bytes.length) / count);
    yield [path, bytes.map((byte, index) => (index === at ? byte ^ (1 << (i % 8)) : byte))];
  }
  if (bytes.length > 0) yield [path, bytes.subarray(0, -1)];
  yield [path, new Uint8Array([...bytes, 0])];
  if (!nested.test(path)) return;
  for (const [at, changed] of tampers(decodeCanonical(bytes), path)) {
    if (encodable(changed)) yield [at, encodeCanonical(changed)];
  }
}

function encodable(value: CborValue): boolean {
  try {
    return encodeCanonical(value).length > 0;
  } catch {
    return false;
  }
}

const tree = decodeCanonical(encoded);
const index = /\[\d+\]/g;

/** What no signature covers, and why nothing is lost by it: attestation/SPEC.md, bundle. */
const notBound = [
  '.settlement.transactions[].call',
  '.settlement.transactions[].hash',
  '.settlement.transactions[] removed',
  '.settlement.transactions[] twice',
];

describe('a bundle', () => {
  it('affirms as it was made, and parses to what it was made of', async () => {
    const verdict = await verifyBundle({ bundle: encoded, policy: job.policy });
    expect(verdict).toMatchObject({ tier: 'warning', simulated: true, steps: 20 });
    expect(verdict.sessions).toHaveLength(2);
    expect(encodeBundle(parseBundle(encoded))).toEqual(encoded);
  });

  it('W-M4 with any one leaf changed does not, save where nothing binds it', async () => {
    const survivors = new Set<string>();
    const leaves = new Set<string>();
    let count = 0;
    for (const [path, value] of tampers(tree)) {
      leaves.add(path.replaceAll(index, '[]'));
      count++;
      if ((await refusedBy(encodeCanonical(value))) === null) survivors.add(path.replaceAll(index, '[]'));
    }
    expect([...survivors].sort()).toEqual([...notBound].sort());
    const { notChecked } = await verifyBundle({ bundle: encoded, policy: job.policy });
    const parts = notChecked.map((part) => `.${part.replaceAll(index, '[]')}`);
    const unnamed = notBound.filter((path) => !parts.some((part) => path.startsWith(part)));
    expect(unnamed).toEqual([]);
    expect(count).toBeGreaterThan(400);
    for (const leaf of [
      '.spec.salt',
      '.terms',
      '.policy.snp.measurements[]',
      '.sessions[].evidence.nonce',
      '.run.last',
    ]) {
      expect([...leaves]).toContain(leaf);
    }
  }, 300_000);

  it('W-M4 names the endorsements that no appraisal uses, whatever they say', async () => {
    const [unused] = parseSessionEvidence(bundle.sessions[0]!.evidence).cpu.certificates;
    const padded = encodeBundle({ ...bundle, endorsements: { ...bundle.endorsements, certificates: [unused!] } });
    const { tier, notChecked } = await verifyBundle({ bundle: padded, policy: job.policy });
    expect(tier).toBe('warning');
    expect(notChecked).toContain('endorsements.certificates[0]');
  });

  it('A-H1 holds the endorsements of many sessions, of which those of other machines neither count nor crowd out', async () => {
    const many = (count: number): Uint8Array[] =>
      Array.from({ length: count }, (_, at) => Uint8Array.of(0x30, 2, at >> 8, at & 255));
    const pieces = { certificates: fakeAmd('turin').certificates, ocsp: many(100), rims: many(20) };
    const full = encodeBundle({ ...bundle, endorsements: { ...bundle.endorsements, ...pieces } });
    const { tier, checks, notChecked } = await verifyBundle({ bundle: full, policy: job.policy });
    expect(checks.filter(isUnmet)).toEqual([]);
    expect(tier).toBe('warning');
    expect(notChecked).toContain('endorsements.certificates[0]');
    const more = encodeBundle({ ...bundle, endorsements: { ...bundle.endorsements, ocsp: many(600) } });
    expect((await verifyBundle({ bundle: more, policy: job.policy })).notChecked).toContain('endorsements');
  });

  it('cut anywhere, or with bytes after it, is refused', async () => {
    for (let cut = 0; cut < encoded.length; cut += Math.ceil(encoded.length / 200)) {
      expect(await refusedBy(encoded.subarray(0, cut))).toMatch(/^CBOR_/);
    }
    expect(await refusedBy(new Uint8Array([...encoded, 0]))).toMatch(/^CBOR_/);
  });

  it('larger than a bundle may be is refused before it is read', async () => {
    expect(await refusedBy(new Uint8Array(16 * 1024 * 1024 + 1))).toBe('MESSAGE_SIZE');
  });

  it('mutated 400 times by seed never affirms unless nothing binds the byte, and never crashes', async () => {
    const bound = encodeBundle({ ...bundle, settlement: { transactions: [] } });
    expect(await refusedBy(bound)).toBeNull();
    expect(await affirmedOf(mutants(bound, 400), refusedBy)).toBe(0);
  }, 300_000);
});

/** Changes that need the parts of another bundle or more than one leaf. */
const forgeries: readonly (readonly [what: string, code: string, change: (b: EvidenceBundle) => EvidenceBundle])[] = [
  ['the spec of another job', 'BUNDLE_TERMS', (b) => ({ ...b, spec: foreign.bundle.spec })],
  [
    'spec and terms of another job',
    'BUNDLE_CHAIN',
    (b) => ({ ...b, spec: foreign.bundle.spec, terms: foreign.bundle.terms }),
  ],
  ['segments of another job', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: foreign.bundle.segments })],
  ['sessions of another job', 'COSE_KEY_ID', (b) => ({ ...b, sessions: foreign.bundle.sessions })],
  [
    'a receipt by another session',
    'COSE_KEY_ID',
    (b) => withSegment(b, 0, { signed: { ...b.segments[0]!.signed!, session: 1 } }),
  ],
  ['the receipt of another segment', 'RECEIPT_STATEMENT', (b) => withSegment(b, 1, { signed: b.segments[2]!.signed })],
  [
    'a session that is not there',
    'BUNDLE_SESSION_INDEX',
    (b) => withSegment(b, 0, { signed: { ...b.segments[0]!.signed!, session: 2 } }),
  ],
  ['a seal by another session', 'BUNDLE_SEAL', (b) => ({ ...b, seal: { ...b.seal!, session: 0 } })],
  ['the seal of another job', 'BUNDLE_SEAL', (b) => ({ ...b, seal: foreign.bundle.seal })],
  [
    'a seal of another selector',
    'BUNDLE_SEAL',
    (b) => ({ ...b, seal: { session: 1, bytes: b.seal!.bytes.map((byte, at) => (at === 0 ? byte ^ 1 : byte)) } }),
  ],
  ['a first segment removed', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: b.segments.slice(1) })],
  ['a last segment removed', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: b.segments.slice(0, -1) })],
  ['a segment twice', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: [b.segments[0]!, ...b.segments] })],
  [
    'segments in another order',
    'BUNDLE_CHAIN',
    (b) => ({ ...b, segments: [b.segments[0]!, b.segments[2]!, b.segments[1]!] }),
  ],
  ['the release of another session', 'BUNDLE_GRANTS', (b) => withSession(b, 0, { grant: b.sessions[1]!.grant })],
  [
    'a release that is shown as a lease',
    'BUNDLE_GRANTS',
    (b) => withSession(b, 0, { grant: { ...b.sessions[0]!.grant, grant: null } }),
  ],
  [
    'a time that the key broker did not sign for',
    'BUNDLE_GRANTS',
    (b) => withSession(b, 0, { appraisedAt: b.sessions[0]!.grant.grantedAt - 1 }),
  ],
  [
    'an appraisal of somebody whom the terms do not list',
    'BUNDLE_APPRAISALS',
    (b) => {
      const { notAfter, signature } = b.sessions[0]!.grant;
      return withSession(b, 0, { appraisals: [{ evidence: new Uint8Array(32), notAfter, signature }] });
    },
  ],
  ['the result of another session', 'BUNDLE_RESULTS', (b) => withSession(b, 0, { result: b.sessions[1]!.result })],
  [
    'the signed result of another session',
    'BUNDLE_RESULTS',
    (b) => {
      const { result, resultSignature } = b.sessions[1]!;
      return withSession(b, 0, { result, resultSignature });
    },
  ],
  ['other keys behind its borders', 'BUNDLE_SEAL', (b) => ({ ...b, run: { ...b.run, keys: new Uint8Array(32) } })],
  ['no sessions', 'BUNDLE_SESSIONS', (b) => ({ ...b, sessions: [] })],
  ['no segments', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: [] })],
  ['sessions in another order', 'COSE_KEY_ID', (b) => ({ ...b, sessions: b.sessions.toReversed() })],
  ['a session twice', 'BUNDLE_SESSIONS', (b) => ({ ...b, sessions: [...b.sessions, b.sessions[0]!] })],
  [
    'a milder policy',
    'BUNDLE_POLICY',
    (b) => ({
      ...b,
      policy: encodeDocument({
        ...job.policy,
        snp: { ...job.policy.snp, measurements: [...(job.policy.snp.measurements ?? []), 'aa'.repeat(48)] },
      }),
    }),
  ],
  ['another result', 'BUNDLE_RUN', (b) => ({ ...b, run: { ...b.run, last: new Uint8Array(32) } })],
  ['an outcome that is not complete', 'BUNDLE_RUN', (b) => ({ ...b, run: { ...b.run, outcome: 1 } })],
  [
    'another ciphertext',
    'BUNDLE_DELIVERY',
    (b) => ({ ...b, delivery: { ...b.delivery, ciphertextDigest: new Uint8Array(32) } }),
  ],
  [
    'another reveal key',
    'BUNDLE_DELIVERY',
    (b) => ({ ...b, delivery: { ...b.delivery, keyCommit: new Uint8Array(32) } }),
  ],
  ['a statement that claims fewer steps', 'RECEIPT_STATEMENT', (b) => withStatement(b, 2, { stepCount: 3 })],
  [
    'a statement of another program',
    'RECEIPT_STATEMENT',
    (b) => withStatement(b, 0, { programDigest: new Uint8Array(32) }),
  ],
];

function withSegment(
  b: EvidenceBundle,
  at: number,
  change: Partial<EvidenceBundle['segments'][number]>,
): EvidenceBundle {
  return { ...b, segments: b.segments.map((segment, i) => (i === at ? { ...segment, ...change } : segment)) };
}

function withSession(
  b: EvidenceBundle,
  at: number,
  change: Partial<EvidenceBundle['sessions'][number]>,
): EvidenceBundle {
  return { ...b, sessions: b.sessions.map((session, i) => (i === at ? { ...session, ...change } : session)) };
}

function withStatement(b: EvidenceBundle, at: number, change: Partial<ReturnType<typeof parseStepStatement>>) {
  const statement = encodeStepStatement({ ...parseStepStatement(b.segments[at]!.statement), ...change });
  return withSegment(b, at, { statement });
}

/** What a session that is not honest might sign, everything else being consistent. */
const dishonest: readonly (readonly [what: string, change: (s: StepStatement, index: number) => StepStatement])[] = [
  ['a gap between two segments', (s, i) => (i === 1 ? { ...s, weightsBefore: new Uint8Array(32) } : s)],
  ['other start weights', (s, i) => (i === 0 ? { ...s, weightsBefore: new Uint8Array(32) } : s)],
  ['another program', (s) => ({ ...s, programDigest: new Uint8Array(32) })],
  ['another data set', (s) => ({ ...s, datasetRoot: new Uint8Array(32) })],
  ['another job', (s) => ({ ...s, jobId: new Uint8Array(32) })],
  ['steps left out', (s, i) => (i === 1 ? { ...s, stepCount: s.stepCount - 1 } : s)],
  ['steps done twice', (s, i) => (i === 1 ? { ...s, stepFrom: 0 } : s)],
  ['no steps at all', (s, i) => (i === 2 ? { ...s, stepCount: 0 } : s)],
];

const foreignTerms = [
  ['another job', { ...job.terms, specDigest: new Uint8Array(32) }],
  ['another policy', { ...job.terms, policy: new Uint8Array(32) }],
] as const;

/** A bundle of one session whose keys are ours: lawful evidence and appraisal, its own statements. */
async function dishonestBundle(change: (typeof dishonest)[number][1], terms = job.terms): Promise<EvidenceBundle> {
  const { keys, evidence, released } = await lawfulSession(job);
  // The data owner signs for whatever escrow it likes.
  const parsed = parseSessionEvidence(evidence);
  const { release, signature } = await grantTo({ ...job, terms }, { evidence, parsed });
  const segments = await Promise.all(
    bundle.segments.map(async (segment, index) => {
      const statement = change(parseStepStatement(segment.statement), index);
      const receipt = await signReceipt(statement, keys.binding.receiptKey, keys.signReceipt);
      return {
        ...{ statement: encodeStepStatement(statement), signed: { session: 0, receipt } },
        ...{ proof: null, partials: [] },
      };
    }),
  );
  const run = { ...bundle.run, keys: runKeysDigest([keys.binding.settlementKey]) };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const digest = runDigest(domain, { job: escrowIdOf(terms), ...run });
  return {
    ...bundle,
    terms: encodeTerms(terms),
    sessions: [shownSession(evidence, { ...released, release, releaseSignature: signature })],
    run,
    segments,
    seal: { session: 0, bytes: new Uint8Array([...teeSelector, ...keys.signSettlement(digest)]) },
  };
}

describe('a forged bundle', () => {
  it.each(forgeries)('with %s is refused, among others by %s', async (_, code, change) => {
    const bytes = encodeBundle(change(bundle));
    const { tier, checks } = await verifyBundle({ bundle: bytes, policy: job.policy });
    expect(tier).toBe('contraindicated');
    expect(checks.filter(isUnmet).map((check) => check.code)).toContain(code);
  });

  it.each(foreignTerms)('that is sealed for an escrow of %s is refused', async (_, terms) => {
    expect(await refusedBy(encodeBundle(await dishonestBundle((statement) => statement, terms)))).toBe('BUNDLE_TERMS');
  });

  it.each(dishonest)(
    'by an appraised session that signs %s is refused by the chain of statements',
    async (_, change) => {
      const { tier, checks } = await verifyBundle({
        bundle: encodeBundle(await dishonestBundle(change)),
        policy: job.policy,
      });
      expect(tier).toBe('contraindicated');
      expect(checks.filter(isUnmet).map(({ code }) => code)).toEqual(['BUNDLE_CHAIN']);
    },
  );

  it('by a session of our own making affirms where its statements are those of the job', async () => {
    expect(await refusedBy(encodeBundle(await dishonestBundle((statement) => statement)))).toBeNull();
  });

  it('is caught where a verifier forgets any one of its checks', async () => {
    const all = await Promise.all([
      ...forgeries.map(async ([what, , change]) => [what, change(bundle)] as const),
      ...dishonest.map(async ([what, change]) => [what, await dishonestBundle(change)] as const),
      ...foreignTerms.map(async ([what, terms]) => [what, await dishonestBundle((s) => s, terms)] as const),
    ]);
    const codes = [
      ...(['TERMS', 'POLICY', 'SESSIONS', 'GRANTS', 'APPRAISALS', 'RESULTS'] as const),
      ...(['RECEIPTS', 'CHAIN', 'SEAL', 'DELIVERY'] as const),
    ];
    const passed = new Map<string, string[]>(codes.map((code) => [code, []]));
    for (const [what, forged] of all) {
      const { checks } = await verifyBundle({ bundle: encodeBundle(forged), policy: job.policy });
      const unmet = checks.filter(isUnmet).map(({ rule }) => rule);
      for (const code of codes) {
        const { rule } = bundleRules[`BUNDLE_${code}`];
        if (unmet.every((one) => one === rule)) passed.get(code)!.push(what);
      }
    }
    for (const [code, forged] of passed) expect([code, forged.length > 0]).toEqual([code, true]);
  });
});

describe('the reader', () => {
  it('judges by its own policy and at its own time where it has them', async () => {
    const strict = { ...job.policy, simulatedRoots: [] } as typeof job.policy;
    expect((await verifyBundle({ bundle: encoded, policy: strict })).tier).toBe('contraindicated');
    const { policy } = job;
    expect((await verifyBundle({ bundle: encoded, policy, at: tinyAt + 60 })).tier).toBe('warning');
    const unjudged = await verifyBundle({ bundle: encoded });
    expect(unjudged.tier).toBe('warning');
    expect(
      unjudged.checks.filter(({ code, status }) => code.startsWith('BUNDLE_') && status === 'warned'),
    ).toMatchObject([{ code: 'BUNDLE_POLICY' }]);
    const late = await verifyBundle({ bundle: encoded, at: tinyAt + 100 * 365 * 86_400 });
    expect(['contraindicated', 'none']).toContain(late.tier);
  });
});
