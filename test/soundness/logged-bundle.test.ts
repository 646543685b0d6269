/** What a bundle shows of a log holds to the byte: entries, proofs, checkpoints and witnesses of others turn the verdict. */
import { sha256 } from '@noble/hashes/sha2.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle, type BundleRequest } from '#attestation';
import { CodedError, concatBytes, fromHex, utf8 } from '#attestation/base';
import { encodeLogExport, noteKeyText, parseLogExport, parseTrustPolicy } from '#attestation/log';
import { encodeBundle, parseBundle, type BundledLog, type EvidenceBundle } from '#attestation/records';
import { logKeyOf } from '#test/log-keys';
import {
  bundleEntry,
  exportOf,
  honestEntries,
  imageEntry,
  issuerEntry,
  issuerOf,
  logOf,
  policyEntry,
  releaseEntry,
  trustText,
  type Made,
} from '#test/logged-bundle';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyAt } from '#test/tiny-job';

const { bundle, job } = await tinyBundle();
const foreign = await tinyBundle({ spec: { salt: new Uint8Array(32) } });
const trust = parseTrustPolicy(trustText);
let honest: Made[];
let log: BundledLog;
beforeAll(async () => {
  honest = await honestEntries(job, bundle);
  log = logOf(honest);
});

const judge = (shown: EvidenceBundle, more: Partial<BundleRequest> = { logPolicy: trust }) =>
  verifyBundle({ bundle: encodeBundle(shown), policy: job.policy, ...more });
const withLog = (changed: BundledLog): EvidenceBundle => ({ ...bundle, log: changed });
const ofLog = ({ checks }: Awaited<ReturnType<typeof judge>>) =>
  Object.fromEntries(checks.filter(({ id }) => id.startsWith('LOG_')).map(({ id, status }) => [id, status]));
const codesOf = ({ checks }: Awaited<ReturnType<typeof judge>>) =>
  checks
    .filter(
      ({ id, status }) => id.startsWith('LOG_') && status !== 'met' && !(id === 'LOG_REVOKED' && status === 'warned'),
    )
    .map(({ code }) => code);

const allMet = {
  ...{ LOG_BUNDLE: 'met', LOG_ENTRIES: 'met', LOG_CHECKPOINT: 'met', LOG_WITNESSES: 'met', LOG_TIME: 'met' },
  ...{ LOG_RELEASES: 'met', LOG_POLICY: 'met', LOG_IMAGE: 'met', LOG_REVOKED: 'warned' },
};

describe('a bundle with a log', () => {
  it('is shown as logged and witnessed to who trusts the log', async () => {
    const verdict = await judge(withLog(log));
    expect(ofLog(verdict)).toEqual(allMet);
    expect(verdict.tier).toBe('warning');
    expect(verdict.log).toMatchObject({ origins: ['log.example/test/2026'], independent: ['witness.example'] });
    expect(verdict.log!.entries.map(({ kind, witnessedAt }) => [kind, witnessedAt])).toEqual([
      ...[['issuer', tinyAt + 5] as const, ['policy', tinyAt + 5] as const, ['image', tinyAt + 5] as const],
      ...[
        ['key-release', tinyAt + 5] as const,
        ['key-release', tinyAt + 5] as const,
        ['job-bundle', tinyAt + 5] as const,
      ],
    ]);
    expect(encodeBundle(parseBundle(encodeBundle(withLog(log))))).toEqual(encodeBundle(withLog(log)));
  });

  it('keeps its tier for who trusts none, and says so', async () => {
    const verdict = await judge(withLog(log), {});
    expect(ofLog(verdict)).toEqual({
      ...{ LOG_BUNDLE: 'met', LOG_ENTRIES: 'met', LOG_CHECKPOINT: 'warned', LOG_RELEASES: 'met', LOG_POLICY: 'met' },
      ...{ LOG_IMAGE: 'met', LOG_REVOKED: 'warned' },
    });
    expect(verdict.tier).toBe((await judge(bundle, {})).tier);
  });

  it('names the proofs whose signatures nobody looked at', async () => {
    const named = log.entries.map((_, place) => `log.entries[${place}].proof`);
    const ofProofs = ({ notChecked }: Awaited<ReturnType<typeof judge>>) =>
      notChecked.filter((part) => part.startsWith('log.'));
    expect(ofProofs(await judge(withLog(log), {}))).toEqual(named);
    expect(ofProofs(await judge(withLog(log)))).toEqual([]);
    const strange = logOf(honest, { byStranger: true });
    expect(ofProofs(await judge(withLog(strange)))).toEqual(named);
  });

  it('takes a trust policy that lies beside it', async () => {
    const { log: shown, material } = await judge(withLog(log), { material: [utf8(trustText)] });
    expect(material).toMatchObject([{ kind: 'log-policy', counts: true }]);
    expect(shown!.entries.every(({ witnessedAt }) => witnessedAt === tinyAt + 5)).toBe(true);
  });

  it('without one is valid and said not to be logged, unless the reader demands it', async () => {
    const free = await judge(bundle, {});
    expect([free.tier, free.log, ofLog(free)]).toEqual(['warning', null, { LOG_BUNDLE: 'warned' }]);
    const demanded = await judge(bundle);
    expect([demanded.tier, ofLog(demanded)]).toEqual(['none', { LOG_BUNDLE: 'missing' }]);
  });

  it('may show that it was logged before, and a release to a session that signed nothing', async () => {
    const entries = [...honest.slice(0, -1), await bundleEntry(job, bundle, { bundle: sha256(utf8('before')) })];
    expect(codesOf(await judge(withLog(logOf([...entries, honest.at(-1)!]))))).toEqual([]);
    const idle = await releaseEntry(job, { ...bundle.sessions[0]!, evidence: bundle.sessions[1]!.evidence });
    expect(codesOf(await judge(withLog(logOf([...honest.slice(0, 4), idle, ...honest.slice(4)]))))).toEqual([]);
  });
});

describe('a log that goes on under the name of another year', () => {
  const next = logKeyOf('log.example/test/2027');
  const both = parseTrustPolicy(`${trustText}log ${noteKeyText(next.key)}\n`);
  const over = (former: Made[], later: Made[], after = 60): BundledLog => {
    const [first, second] = [logOf(former), logOf(later, { log: next, after })];
    return {
      ...first,
      entries: [...second.entries, ...first.entries],
      consistency: [...second.consistency, ...first.consistency],
    };
  };
  const judged = async (shown: BundledLog) => codesOf(await judge(withLog(shown), { logPolicy: both }));

  it('shows what came in the old year and what in the new one', async () => {
    for (const at of [1, 2, 3, 4, 5]) expect(await judged(over(honest.slice(0, at), honest.slice(at)))).toEqual([]);
  });

  it('makes nothing come before what the witnesses had seen', async () => {
    const late = 400;
    expect(await judged(over(honest.toSpliced(1, 1), [honest[1]!], late))).toEqual(['LOG_POLICY']);
    expect(await judged(over(honest.toSpliced(2, 1), [honest[2]!], late))).toEqual(['LOG_IMAGE']);
    expect(await judged(over(honest.toSpliced(3, 1), [honest[3]!], late))).toEqual(['LOG_RELEASES']);
  });
});

/** Launches of those kinds, each with the measurement of the first session, bent where the number is 1. */
async function imageOf(launches: readonly (readonly [kind: string, bend: number])[]): Promise<Made> {
  const { sessions } = await judge(bundle);
  const value = fromHex(sessions[0]!.instance!.measurement);
  const measurements = launches.map(([kind, bend]) => ({ kind, value: value.with(0, value[0]! ^ bend) }));
  return imageEntry(job, bundle, { measurements });
}

type Attack = (shown: BundledLog) => BundledLog | Promise<BundledLog>;
type Entry = BundledLog['entries'][number];

const at = (index: number, change: (one: Entry, all: BundledLog) => Partial<Entry>): Attack => {
  return (shown) => ({
    ...shown,
    entries: shown.entries.map((one, place) => (place === index ? { ...one, ...change(one, shown) } : one)),
  });
};
const flip = (bytes: Uint8Array): Uint8Array => bytes.with(bytes.length - 20, bytes.at(-20)! ^ 1);
const remade = (change: (entries: Made[]) => Made[] | Promise<Made[]>): Attack => {
  return async () => logOf(await change(honest));
};
const foreignLog = () => honestEntries(foreign.job, foreign.bundle);
const fork = logKeyOf('log.example/test/2026', 'log', 'another key of the log');

const attacks: readonly (readonly [what: string, code: string, attack: Attack])[] = [
  ['an entry with one bit changed', 'LOG_INCLUSION', at(5, ({ entry }) => ({ entry: flip(entry) }))],
  [
    'an opening with one bit changed',
    'LOG_OPENING',
    at(5, ({ opening }) => ({ opening: { ...opening!, body: flip(opening!.body) } })),
  ],
  ['an entry that nobody opens', 'LOG_OPENING', at(5, () => ({ opening: null }))],
  ['a proof of another entry', 'LOG_INCLUSION', at(3, (_, { entries }) => ({ proof: entries[2]!.proof }))],
  [
    'a proof of another tree',
    'LOG_CONSISTENCY',
    async (shown) => {
      const other = logOf([...(await foreignLog()).slice(0, 5), honest[5]!]);
      return { ...shown, entries: [...shown.entries.slice(0, 5), other.entries[5]!] };
    },
  ],
  ['a path of another tree', 'LOG_CONSISTENCY', (shown) => ({ ...shown, consistency: shown.consistency.toReversed() })],
  ['a path too few', 'LOG_CONSISTENCY', (shown) => ({ ...shown, consistency: shown.consistency.slice(1) })],
  ['a path too many', 'LOG_CONSISTENCY', (shown) => ({ ...shown, consistency: [...shown.consistency, []] })],
  ['entries in another order', 'LOG_ORDER', (shown) => ({ ...shown, entries: shown.entries.toReversed() })],
  ['an entry twice', 'LOG_ORDER', (shown) => ({ ...shown, entries: [shown.entries[0]!, ...shown.entries] })],
  [
    'the bundle entry of another job',
    'LOG_FOREIGN',
    remade(async (entries) => [...entries.slice(0, 5), (await foreignLog()).at(-1)!]),
  ],
  [
    'the release of another job',
    'LOG_FOREIGN',
    remade(async (entries) => [...entries.slice(0, 3), (await foreignLog())[3]!, ...entries.slice(4)]),
  ],
  [
    'the policy of another job',
    'LOG_FOREIGN',
    remade(async (entries) => [
      entries[0]!,
      await policyEntry({ ...job, spec: { ...job.spec, policyDigest: new Uint8Array(32) } }),
      ...entries.slice(2),
    ]),
  ],
  ['no entry of the bundle', 'LOG_BUNDLE', remade((entries) => entries.slice(0, -1))],
  [
    'an entry of another bundle of this job',
    'LOG_BUNDLE',
    remade(async (entries) => [...entries, await bundleEntry(job, bundle, { bundle: new Uint8Array(32) })]),
  ],
  [
    'a milder outcome',
    'LOG_BUNDLE',
    remade(async (entries) => [...entries.slice(0, -1), await bundleEntry(job, bundle, { tier: 'affirming' })]),
  ],
  ['another watch key', 'LOG_BUNDLE', (shown) => ({ ...shown, watchKey: new Uint8Array(32) })],
  ['a release left out', 'LOG_RELEASES', remade((entries) => entries.toSpliced(4, 1))],
  ['a release logged after the bundle', 'LOG_RELEASES', remade((entries) => [...entries.toSpliced(4, 1), entries[4]!])],
  [
    'a release by a stranger',
    'LOG_RELEASES',
    remade(async (entries) =>
      entries.with(4, await releaseEntry(job, bundle.sessions[1]!, issuerOf('stranger.example'))),
    ),
  ],
  [
    'an issuer for whom another account signed',
    'LOG_RELEASES',
    remade(async (entries) => entries.with(0, await issuerEntry(undefined, new Uint8Array(32).fill(7)))),
  ],
  ['no policy', 'LOG_POLICY', remade((entries) => entries.toSpliced(1, 1))],
  [
    'a policy logged after the first release',
    'LOG_POLICY',
    remade((entries) => [entries[0]!, entries[2]!, entries[3]!, entries[1]!, ...entries.slice(4)]),
  ],
  ['no image', 'LOG_IMAGE', remade((entries) => entries.toSpliced(2, 1))],
  [
    'an image logged after the first release',
    'LOG_IMAGE',
    remade((entries) => [...entries.slice(0, 2), entries[3]!, entries[2]!, ...entries.slice(4)]),
  ],
  [
    'an image with another measurement',
    'LOG_IMAGE',
    remade(async (entries) => entries.with(2, await imageOf([['simulated-snp', 1]]))),
  ],
  [
    'the image of another kind of machine',
    'LOG_IMAGE',
    remade(async (entries) => entries.with(2, await imageOf([['tdx', 0]]))),
  ],
  [
    'an image beside that of no session',
    'LOG_IMAGE',
    remade(async (entries) => entries.toSpliced(3, 0, await imageOf([['simulated-snp', 1]]))),
  ],
  [
    'a log that the reader does not trust',
    'LOG_CHECKPOINT',
    () => logOf(honest, { log: logKeyOf('other.example/log') }),
  ],
  ['a checkpoint by another key of that name', 'LOG_CHECKPOINT', () => logOf(honest, { log: fork })],
  ['checkpoints that nobody cosigned', 'LOG_WITNESSES', () => logOf(honest, { isCosigned: false })],
  ['checkpoints that a stranger cosigned', 'LOG_WITNESSES', () => logOf(honest, { byStranger: true })],
  ['witnesses that saw it before it was', 'LOG_TIME', () => logOf(honest, { after: -2000 })],
  ['entries of which the witnesses saw nothing for hours', 'LOG_TIME', () => logOf(honest, { after: 7300 })],
];

describe('a bundle with the log of an attacker', () => {
  it.each(attacks)('%s is told as %s', async (_, code, attack) => {
    const verdict = await judge(withLog(await attack(log)));
    const told = verdict.checks.find((check) => check.code === code && check.status !== 'met');
    expect(told).toMatchObject({ code, subject: 'bundle' });
    expect(told!.means).not.toBe('');
    expect(verdict.tier === 'warning').toBe(told!.status === 'warned');
  });

  it('is refused with any byte of an entry, an opening or a proof changed', async () => {
    const survivors: string[] = [];
    for (const [index, { entry, opening, proof }] of log.entries.entries()) {
      for (let byte = 0; byte < entry.length; byte += 97) {
        const bent = at(index, () => ({ entry: entry.with(byte, entry[byte]! ^ (1 << (byte % 8))) }));
        if (await stands(bent)) survivors.push(`entry ${index}, byte ${byte}`);
      }
      for (let byte = 0; byte < proof.length; byte += 131) {
        const letter = proof[byte] === 'A' ? 'B' : 'A';
        const bent = at(index, () => ({ proof: proof.slice(0, byte) + letter + proof.slice(byte + 1) }));
        if (await stands(bent)) survivors.push(`proof ${index}, letter ${byte}`);
      }
      const { salt = new Uint8Array(), body = new Uint8Array() } = opening ?? {};
      for (let byte = 0; byte < body.length; byte += 61) {
        const bent = at(index, () => ({ opening: { salt, body: body.with(byte, body[byte]! ^ 1) } }));
        if (await stands(bent)) survivors.push(`opening ${index}, byte ${byte}`);
      }
    }
    expect(survivors).toEqual([]);
  });
});

type Revoked = Parameters<typeof exportOf>[0][number];

describe('a bundle and a newer log', () => {
  const salt = new Uint8Array(16).fill(3);
  const of = (what: Revoked['what'], id: Uint8Array, more: Partial<Revoked> = {}): Revoked => {
    return { what, id, salt: null, reason: 'lost', from: 0, ...more };
  };
  const asked = async (file: Uint8Array | Promise<Uint8Array>, shown = withLog(log)) => {
    const verdict = await judge(shown, { logPolicy: trust, logExport: parseLogExport(await file) });
    return { ...verdict, check: verdict.checks.find(({ id }) => id === 'LOG_REVOKED')! };
  };
  const kid = issuerOf('broker.example').publicKey;
  const named = async (): Promise<readonly Revoked[]> => {
    const { instance } = (await judge(bundle)).sessions[0]!;
    const [measurement, chip] = [fromHex(instance!.measurement), fromHex(instance!.chip!)];
    return [
      ...[of('issuer', kid), of('policy', job.spec.policyDigest), of('broker', job.terms.keyBroker)],
      ...[of('measurement', measurement), of('chip', chip)],
      of('chip', sha256(concatBytes(salt, chip)), { salt }),
      of('issuer', kid, { from: tinyAt }),
    ];
  };

  it('says that nothing was taken back, by when', async () => {
    const stranger = of('issuer', new Uint8Array(32).fill(1));
    for (const list of [[], [stranger]]) {
      const { check, tier } = await asked(exportOf(list));
      expect([check.status, tier]).toEqual(['met', 'warning']);
    }
  });

  it('is refused for whatever was taken back of it, with the reason', async () => {
    for (const one of await named()) {
      const { check, tier } = await asked(exportOf([of('policy', new Uint8Array(32)), one]));
      expect([one.what, check.status, tier]).toEqual([one.what, 'refused', 'contraindicated']);
      expect(check.got).toContain('lost');
    }
    const [, policy] = await named();
    expect((await asked(exportOf([policy!]), bundle)).check.status).toBe('refused');
  });

  it('is not refused for what was taken back later, or under another kind or salt', async () => {
    const [, , , measurement, chip] = await named();
    const others = [
      of('issuer', kid, { from: tinyAt + 1_000_000 }),
      of('policy', kid),
      of('chip', measurement!.id),
      of('measurement', chip!.id),
      of('chip', chip!.id, { salt }),
    ];
    expect((await asked(exportOf(others))).check.status).toBe('met');
  });

  it('is held, where the job had no sessions, against the time of its log, and without one against all', async () => {
    const bare = { ...bundle, sessions: [] };
    const entries = [await issuerEntry(), await policyEntry(job), await bundleEntry(job, bare)];
    const witnessed = { ...bare, log: logOf(entries) };
    const unseen = { ...bare, log: logOf(entries, { isCosigned: false }) };
    const cases: readonly (readonly [EvidenceBundle, number, string])[] = [
      [witnessed, tinyAt + 5, 'refused'],
      [witnessed, tinyAt + 6, 'met'],
      [unseen, tinyAt, 'refused'],
      [unseen, tinyAt + 1, 'met'],
      [bare, tinyAt + 1_000_000, 'refused'],
    ];
    for (const [shown, from, status] of cases) {
      for (const one of [of('policy', job.spec.policyDigest, { from }), of('broker', job.terms.keyBroker, { from })]) {
        const { check } = await asked(exportOf([one]), shown);
        expect([from, check.status]).toEqual([from, status]);
      }
    }
  });

  it('is warned of where the export is older, seen by nobody, or none', async () => {
    for (const file of [exportOf([], { others: 5 }), exportOf([], { isCosigned: false })]) {
      const { check, tier } = await asked(file);
      expect([check.status, tier]).toEqual(['warned', 'warning']);
    }
    const without = (await judge(withLog(log))).checks.find(({ id }) => id === 'LOG_REVOKED')!;
    expect([without.status, without.got.startsWith('not asked since')]).toEqual(['warned', true]);
  });

  it('is warned of, by name, where a log of the bundle was not asked, and names the one that was', async () => {
    const second = logKeyOf('second.example/test');
    const logPolicy = parseTrustPolicy(`log ${noteKeyText(second.key)}\n${trustText}`);
    const [first, other] = [logOf(honest.slice(0, -1)), logOf(honest.slice(-1), { log: second })];
    const entries = [...first.entries, ...other.entries];
    const both = withLog({ ...first, entries, consistency: [...first.consistency, ...other.consistency] });
    const logExport = parseLogExport(await exportOf([]));
    const [ofBoth, ofOne] = await Promise.all(
      [both, withLog(log)].map((shown) => judge(shown, { logPolicy, logExport })),
    );
    expect(ofLog(ofBoth!)).toEqual({ ...ofLog(ofOne!), LOG_REVOKED: 'warned' });
    const gotOf = ({ checks }: typeof ofBoth & object) => checks.find(({ id }) => id === 'LOG_REVOKED')!.got;
    expect(gotOf(ofBoth!)).toMatch(/in log\.example\/test\/2026 by .*; not asked: second\.example\/test$/);
    expect(gotOf(ofOne!)).toMatch(/^0 revocations in log\.example\/test\/2026 by [^;]*$/);
  });

  it('takes no export of a stranger’s log, and none that was altered', async () => {
    const foreignExport = await asked(exportOf([], { log: fork }));
    expect(foreignExport.check.status).toBe('forged');
    const honestExport = parseLogExport(await exportOf([of('policy', kid), of('policy', salt)]));
    const [first, second] = honestExport.revocations as [LogRevocation, LogRevocation];
    const bent = [
      { ...honestExport, revocations: [second, first] },
      { ...honestExport, revocations: [first, first] },
      { ...honestExport, revocations: [{ ...first, index: second.index }] },
      { ...honestExport, revocations: [{ ...first, path: second.path }] },
      { ...honestExport, revocations: [{ ...first, entry: second.entry }] },
      { ...honestExport, revocations: [{ ...first, entry: honest[1]!.entry }] },
      { ...honestExport, note: honestExport.note.replace('\n42\n', '\n43\n') },
    ];
    for (const file of bent) expect((await asked(encodeLogExport(file))).check.status).toBe('forged');
    expect(() => parseLogExport(utf8('{}'))).toThrow(/CBOR/);
  });
});

type LogRevocation = ReturnType<typeof parseLogExport>['revocations'][number];

async function stands(attack: Attack): Promise<boolean> {
  try {
    return codesOf(await judge(withLog(await attack(log)))).length === 0;
  } catch (error) {
    if (error instanceof CodedError) return false;
    throw error;
  }
}
