/** The journal held against a log that runs: no line can be taken away unseen, and heads say what stood in it. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, utf8 } from '#attestation/base';
import { entryTag, leafHash, openEntry, parseEntry, treeRoot } from '#attestation/log';
import { encodeSessionEvidence } from '#attestation/records';
import { startLogSite, unixNow } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { evidenceBy, testSession } from '#test/tiny-evidence';
import { releaseRequest, tinyAt, tinyBroker, tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import { createBrokerApp } from './app.js';
import type { BrokerConfig } from './config.js';
import { openOwnEntries } from './own-entries.js';
import { openReleaseLog, watchKeyOf } from './release-log.js';

const job = await tinyJob();
const names = [
  'broker.example',
  'cut.example',
  'crash.example',
  'stop.example',
  'chain.example',
  'other.example',
  'end.example',
  'lapsed.example',
];
let site: Awaited<ReturnType<typeof startLogSite>>;
beforeAll(async () => {
  site = await startLogSite(names);
}, 60_000);
afterAll(() => site.stop());

type Logged = Pick<BrokerConfig, 'log' | 'ownEntries'>;

/** The log's clock is that of today, and that of the evidence is not. */
function loggedBy(name: string, { url = site.url, acceptedTo = 0 } = {}): Required<Logged> {
  const place = { url, policy: site.policy, issuer: issuerOf(name) };
  const own = { id: 'test', digest: new Uint8Array(32).fill(6), validFrom: 0 };
  const log = openReleaseLog({ ...place, shown: () => [], own });
  return {
    log: { enter: (release, key, _at, announce) => log.enter(release, key, unixNow(), announce) },
    ownEntries: openOwnEntries({ ...place, acceptedTo }),
  };
}

const start = (logged: Logged, more: Partial<BrokerConfig> = {}) => tinyBroker(job, { ...logged, ...more });
type Started = Awaited<ReturnType<typeof start>>;

async function asked({ nonces }: Started, session: Awaited<ReturnType<typeof testSession>>) {
  const { nonce } = nonces.issue(job.jobId, tinyAt);
  return releaseRequest(job, encodeSessionEvidence(await evidenceBy(session, nonce)));
}

/** A release, a renewal and the end of the session, each logged as a broker does. */
async function worked(name: string, more: Partial<BrokerConfig> = {}) {
  const parts = await start(loggedBy(name), more);
  const session = await testSession();
  const { release } = await parts.broker.release(await asked(parts, session), tinyAt);
  await parts.broker.renew(await asked(parts, session), tinyAt);
  parts.sessions.end(release.session, tinyAt, 'APPRAISAL_REFUSED');
  await parts.heads.logEnds(unixNow());
  return parts;
}

const journalOf = (lines: readonly string[]): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'veritrain-heads-')), 'journal.jsonl');
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
};
const linesOf = ({ config }: Started): string[] => readFileSync(config.journal, 'utf8').trim().split('\n');
const said = (line: string): Record<string, unknown> => JSON.parse(line) as Record<string, unknown>;
const decisions = (lines: readonly string[]): string[] =>
  lines.map((line) => {
    const { decision, kind } = said(line);
    return kind === undefined ? String(decision) : `${String(decision)} ${String(kind)}`;
  });

/** What a start on these lines comes to. */
async function outcome(name: string, lines: readonly string[], acceptedTo = 0): Promise<string> {
  try {
    const parts = await start(loggedBy(name, { acceptedTo }), { journal: journalOf(lines) });
    await parts.heads.compare(unixNow());
    return 'whole';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** As somebody would who knows how it is made. */
function chained(lines: readonly string[]): string[] {
  let prev = createHash('sha256').update('').digest('hex');
  return lines.map((line, at) => {
    const { n: _n, prev: _prev, at: time, ...more } = said(line);
    const made = JSON.stringify({ n: at + 1, at: time, prev, ...more });
    prev = createHash('sha256').update(made).digest('hex');
    return made;
  });
}

const whole = [
  ...['logging key-release', 'released', 'renewed', 'session-ended'],
  ...['logging session-end', 'logging journal-head'],
];

describe('the journal and the log', () => {
  it('A-M7 any one line taken away, and any number at the end, is seen', async () => {
    const parts = await worked('cut.example');
    await parts.heads.logHead(unixNow());
    const lines = linesOf(parts);
    expect(decisions(lines)).toEqual(whole);
    expect(await outcome('cut.example', lines)).toBe('whole');
    for (let at = 0; at < lines.length; at++) {
      expect(await outcome('cut.example', lines.toSpliced(at, 1)), `line ${at}`).toBe('BROKER_JOURNAL_CUT');
      expect(await outcome('cut.example', lines.slice(0, at)), `${at} lines`).toBe('BROKER_JOURNAL_CUT');
    }
  });

  it('A-M7 nothing is released or renewed on one that is cut, until its owner accepts it', async () => {
    const lines = linesOf(await worked('broker.example'));
    const cut = await start(loggedBy('broker.example'), { journal: journalOf(lines.slice(0, 3)) });
    const session = await testSession();
    await expect(cut.broker.release(await asked(cut, session), tinyAt)).rejects.toThrow(/BROKER_JOURNAL_CUT/);
    await expect(cut.broker.renew(await asked(cut, session), tinyAt)).rejects.toThrow(/BROKER_JOURNAL_CUT/);
    const told: unknown = await cut.heads.compare(unixNow()).catch((error: unknown) => error);
    const acceptedTo = Number(/acceptedTo (\d+)/.exec((told as { detail: { action: string } }).detail.action)![1]);
    expect(await outcome('broker.example', lines.slice(0, 3), acceptedTo - 1)).toBe('BROKER_JOURNAL_CUT');
    expect(await outcome('broker.example', lines.slice(0, 3), acceptedTo)).toBe('whole');
  });

  it('A-M7 one whose lines were chained anew is not the one that its head is of', async () => {
    const parts = await worked('chain.example');
    await parts.heads.logHead(unixNow());
    const lines = linesOf(parts);
    expect(chained(lines)).toEqual(lines);
    const renewed = decisions(lines).indexOf('renewed');
    expect(await outcome('chain.example', chained(lines.toSpliced(renewed, 1)))).toBe('BROKER_JOURNAL_CUT');
    // A head by another issuer of the log, over what is left.
    const other = await start(loggedBy('other.example'), { journal: journalOf(chained(lines.slice(0, 2))) });
    await other.heads.logHead(unixNow());
    expect(decisions(linesOf(other)).at(-1)).toBe('logging journal-head');
    expect(await outcome('other.example', linesOf(other))).toBe('whole');
    expect(await outcome('chain.example', linesOf(other))).toBe('BROKER_JOURNAL_CUT');
  });

  it('counts what the log shows as released where a crash, or a hand, took the line that says so', async () => {
    const lines = linesOf(await worked('crash.example', { jobsPerDataSet: 1 }));
    const again = await start(loggedBy('crash.example'), { journal: journalOf(lines.slice(0, 1)) });
    const { id } = job.dataset.manifest;
    const released = (): number => again.journal.releasesOf(`0x${Buffer.from(id).toString('hex')}`).size;
    expect(released()).toBe(0);
    await expect(again.heads.compare(unixNow())).rejects.toThrow(/session-end/);
    const ends = decisions(lines).indexOf('logging session-end');
    const kept = chained(lines.filter((_, at) => at === 0 || at === ends));
    const crashed = await start(loggedBy('crash.example'), { journal: journalOf(kept) });
    await crashed.heads.compare(unixNow());
    expect(decisions(linesOf(crashed))).toEqual(['logging key-release', 'logging session-end', 'released']);
    await crashed.heads.compare(unixNow());
    expect(linesOf(crashed)).toHaveLength(3);
  });

  it('releases nothing while the log cannot be read, and renews', async () => {
    const parts = await start({});
    const session = await testSession();
    await parts.broker.release(await asked(parts, session), tinyAt);
    const dead = loggedBy('broker.example', { url: 'http://127.0.0.1:9' });
    const away = await start(dead, { journal: parts.config.journal });
    await expect(away.broker.release(await asked(away, session), tinyAt)).rejects.toThrow(/BROKER_LOG: .*LOG_UNREACH/s);
    expect((await away.broker.renew(await asked(away, session), tinyAt)).leaseSignature).toHaveLength(65);
  });

  it('has the root of the renewals in the end of a session, which is said once', async () => {
    const parts = await worked('end.example');
    const lines = linesOf(parts);
    const [renewal] = lines.filter((line) => said(line)['decision'] === 'renewed');
    const { entry, salt, body } = lines.map(said).find(({ kind }) => kind === 'session-end')!;
    const read = parseEntry(new Uint8Array(Buffer.from(String(entry), 'base64')));
    if (read.class !== 'sealed') throw new Error(read.class);
    const opening = { salt: fromHex(String(salt)), body: new Uint8Array(Buffer.from(String(body), 'base64')) };
    const root = treeRoot([leafHash(utf8(renewal!))]);
    expect(openEntry(read, 'session-end', opening)).toMatchObject({ reason: 'APPRAISAL_REFUSED', renewals: 1, root });
    const watch = watchKeyOf(job.dataset.key);
    expect(read.tags).toContainEqual(entryTag(watch, read.nonce));
    await parts.heads.logEnds(unixNow());
    expect(linesOf(parts)).toEqual(lines);
  });

  it('says of a session that its last lease was over, and of one that goes on nothing', async () => {
    const parts = await start(loggedBy('lapsed.example'));
    const session = await testSession();
    const { release } = await parts.broker.release(await asked(parts, session), tinyAt);
    expect(parts.journal.logged.ended(release.notAfter)).toEqual([]);
    const [ended] = parts.journal.logged.ended(release.notAfter + 1);
    expect(ended!.body).toMatchObject({ reason: 'BROKER_SESSION_LAPSED', renewals: 0, root: treeRoot([]) });
  });

  it('is logged when the broker stops, once', async () => {
    const config = tinyBrokerConfig(job, { ...loggedBy('stop.example') });
    const stopped = async (): Promise<string[]> => {
      const { app } = await createBrokerApp(config);
      await app.init();
      await app.close();
      return decisions(readFileSync(config.journal, 'utf8').trim().split('\n').filter(Boolean));
    };
    expect(await stopped()).toEqual([]);
    writeFileSync(config.journal, '{"at":1,"decision":"refused"}\n');
    expect(await stopped()).toEqual(['refused', 'logging journal-head']);
    expect(await stopped()).toEqual(['refused', 'logging journal-head']);
  });
});
