/**
 * Brings to the transparency log what is due there, and keeps the proofs. An entry is made once and stored before it is
 * submitted; the log gives the same entry the same leaf, so that a process that dies anywhere loses nothing and logs
 * nothing twice. Any number of replicas does so at once.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, In, IsNull, Not, type EntityManager } from 'typeorm';
import { decodePolicy, resultsTier } from '#attestation';
import { CodedError, CollateralError, fromHex, to0x } from '#attestation/base';
import { makePublicEntry, makeSealedEntry, type EntryBody, type EntryIssuer, type SealedKind } from '#attestation/log';
import { bundleDigest, encodeBundledLog } from '#attestation/records';
import { fetchConsistency, submitEntry } from '#libs/log';
import { Job, KeyRelease, LogOutboxEntry, ProverKey, Worker } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import type { LoggedEntries } from '#libs/wire';
import type { Config } from '../core/config/config.js';
import type { LogConfig } from '../core/config/log.js';
import { CONFIG, LOGGER } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { Periodic } from '../core/timing/periodic.js';
import { openJob } from '../jobs/open-job.js';
import { BundleAssembly } from './bundle-assembly.js';
import { imagesOf, isOfJob, memberOf, ownEntry, reportedEntry } from './log-member.js';
import type { StoredRelease } from './release-check.js';

const pollMilliseconds = 500;
const batchSize = 16;
/** Nobody else tries what is being tried; a replica that dies meanwhile is waited for this long. */
const claimSeconds = 60;
/** For the log's answer; what takes longer is asked for again. */
const withinMs = 15_000;
const pauseSecondsMost = 60;
const verifierName = 'veritrain';
/** A bundle shows at most 80 entries: of a job whose bundle changed often, or that many sessions were lost for, the newest. */
const shownBundlesMost = 8;
const shownReleasesMost = 64;

type Made = Pick<LogOutboxEntry, 'entry' | 'salt' | 'body' | 'bundle'>;

/** Of an entry that waited until no log takes it, and that none has: it is made anew. */
const unmade: Made = { entry: null, salt: null, body: null, bundle: null };

@Injectable()
export class LogSender implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  readonly #log: LogConfig | null;

  constructor(
    private readonly database: DataSource,
    private readonly assembly: BundleAssembly,
    private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#log = config.log;
    this.#loop = new Periodic('log sender', pollMilliseconds, () => this.send(), logger);
  }

  onApplicationBootstrap(): void {
    if (this.#log !== null) this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.#log !== null) await this.#loop.stop();
  }

  /** Tries everything that is due. */
  async send(): Promise<void> {
    const log = this.#log;
    if (log === null) return;
    for (let count = batchSize; count === batchSize;) {
      const due = await this.claim();
      const [policies, bundles] = [due.filter(isPolicy), due.filter((row) => !isPolicy(row))];
      await Promise.all(policies.map((row) => this.attempt(log, row)));
      await Promise.all(bundles.map((row) => this.attempt(log, row)));
      count = due.length;
    }
  }

  private claim(): Promise<LogOutboxEntry[]> {
    const now = this.clock.now();
    return this.database.transaction(async (manager) => {
      const due = await manager
        .createQueryBuilder(LogOutboxEntry, 'l')
        .where('l.ended_at IS NULL AND l.next_at <= :now', { now })
        .orderBy('l.id')
        .limit(batchSize)
        .setLock('pessimistic_write')
        .setOnLocked('skip_locked')
        .getMany();
      const nextAt = new Date(now.getTime() + claimSeconds * 1000);
      if (due.length > 0) await manager.update(LogOutboxEntry, { id: In(due.map(({ id }) => id)) }, { nextAt });
      return due;
    });
  }

  private async attempt(log: LogConfig, row: LogOutboxEntry): Promise<void> {
    try {
      const made = row.entry === null ? await this.make(log, row) : row;
      if (made.entry === null) return await this.end(row, { code: 'LOG_NOTHING' });
      const proof = row.proof ?? (await this.submit(log, row, made.entry));
      const member = row.kind === 'job-bundle' ? await this.member(log, row.subject) : null;
      await this.end(row, { proof, member, code: null });
    } catch (error) {
      const code = error instanceof CodedError ? error.code : 'LOG_FAILED';
      if (code === 'JOB_BUNDLE_PENDING') return this.end(row, { code });
      this.logger.warn('not logged yet', { kind: row.kind, subject: row.subject, attempts: row.attempts, error });
      const pause = Math.min(pauseSecondsMost, 2 ** Math.min(row.attempts, 10));
      const nextAt = new Date(this.clock.now().getTime() + pause * 1000);
      const again = { attempts: row.attempts + 1, nextAt, code, ...(code === 'LOG_ENTRY_TIME' && unmade) };
      await this.database.manager.update(LogOutboxEntry, { id: row.id, endedAt: IsNull() }, again);
    }
  }

  private async submit({ url, policy }: LogConfig, { id }: LogOutboxEntry, entry: Buffer): Promise<string> {
    const { text } = await submitEntry(url, new Uint8Array(entry), policy, { wait: 'witnessed', withinMs });
    await this.database.manager.update(LogOutboxEntry, { id }, { proof: text });
    return text;
  }

  /** What is stored counts: another replica may have made the entry meanwhile. An entry is null where none is due. */
  private async make(log: LogConfig, row: LogOutboxEntry): Promise<Made> {
    const made = await this.entryOf(log, row);
    return this.database.transaction(async (manager) => {
      const where = { kind: row.kind, subject: row.subject };
      const rows = await manager.find(LogOutboxEntry, {
        where,
        order: { id: 'ASC' },
        lock: { mode: 'pessimistic_write' },
      });
      const stored = rows.find(({ id }) => id === row.id)!;
      if (stored.entry !== null) return stored;
      const isSame = rows.some(({ bundle }) => bundle !== null && bundle === made.bundle);
      if (isSame) return { ...made, entry: null };
      await manager.update(LogOutboxEntry, { id: row.id }, made);
      return made;
    });
  }

  private entryOf(log: LogConfig, row: LogOutboxEntry): Promise<Made> {
    if (row.kind === 'policy') return this.policyEntry(log, row);
    return row.kind === 'journal-head' ? this.headEntry(log, row) : this.bundleEntry(log, row);
  }

  /** Of the audit log, whose rows have no bytes. */
  private headEntry({ issuer }: LogConfig, { subject, data }: LogOutboxEntry): Promise<Made> {
    const body = { lines: Number(subject), bytes: 0, head: fromHex(String(data['digest'])) };
    return this.sealed(issuer, 'journal-head', body, []);
  }

  private async sealed<K extends SealedKind>(
    issuer: EntryIssuer,
    kind: K,
    body: EntryBody<K>,
    watchKeys: readonly Uint8Array[],
  ): Promise<Made> {
    const { entry, opening } = await makeSealedEntry(issuer, kind, body, { at: this.clock.at(), watchKeys, random });
    return {
      entry: Buffer.from(entry),
      salt: Buffer.from(opening.salt),
      body: Buffer.from(opening.body),
      bundle: null,
    };
  }

  private async policyEntry({ issuer }: LogConfig, { subject, data }: LogOutboxEntry): Promise<Made> {
    const { policy } = await this.database.manager.findOneByOrFail(Job, { id: String(data['job']) });
    const { id, validFrom } = namedIn(new Uint8Array(policy));
    const body = { id, digest: fromHex(subject), document: null, signers: [], validFrom };
    const entry = await makePublicEntry(issuer, 'policy', body, this.clock.at());
    return { entry: Buffer.from(entry), salt: null, body: null, bundle: null };
  }

  private async bundleEntry({ issuer, watchKeyOf }: LogConfig, { subject }: LogOutboxEntry): Promise<Made> {
    const { manager } = this.database;
    const job = await manager.findOneByOrFail(Job, { id: subject });
    const bundle = await this.assembly.present(job);
    if (bundle === null) return unmade;
    const digest = bundleDigest(bundle);
    const body = {
      ...{ bundle: digest, escrow: fromHex(job.escrowId), policy: openJob(job).spec.policyDigest },
      ...{ tier: resultsTier(bundle.sessions), verifier: verifierName, outcome: bundle.run.outcome },
    };
    return { ...(await this.sealed(issuer, 'job-bundle', body, [watchKeyOf(subject)])), bundle: to0x(digest) };
  }

  private async member({ url, policy, watchKeyOf, images }: LogConfig, jobId: string): Promise<Buffer> {
    const { manager } = this.database;
    const job = await manager.findOneByOrFail(Job, { id: jobId });
    const subject = to0x(openJob(job).spec.policyDigest);
    const waiting = { kind: 'policy', subject, endedAt: IsNull() };
    if (await manager.existsBy(LogOutboxEntry, waiting)) {
      throw new CollateralError('LOG_POLICY_WAITS', {
        expected: 'the policy of the job in the log before its bundle is shown with it',
        got: `policy ${subject} is not logged yet`,
        rule: 'attestation/LOG.md',
      });
    }
    const proved = Not(IsNull());
    const policies = await manager.findBy(LogOutboxEntry, { kind: 'policy', subject, proof: proved });
    const where = { kind: 'job-bundle', subject: jobId, proof: proved };
    const bundles = await manager.find(LogOutboxEntry, { where, order: { id: 'DESC' }, take: shownBundlesMost });
    const logged = await releasesOf(manager, jobId);
    const open = logged.filter(({ opening }) => opening === null);
    const releases = logged.filter(({ opening }) => opening !== null).slice(-shownReleasesMost);
    const own = [...policies, ...bundles].flatMap((row) => ownEntry(row) ?? []);
    const bundle = await this.assembly.present(job);
    const shown = imagesOf(images(), bundle?.sessions.map(({ evidence }) => evidence) ?? []);
    const reported = [...open, ...releases].map(reportedEntry).filter((one) => isOfJob(one, openJob(job)));
    const entries = [...own, ...shown, ...reported];
    const consistencyOf = (origin: string, from: number, to: number): Promise<Uint8Array[]> =>
      fetchConsistency(policy.logs.find(({ key }) => key.name === origin)?.url ?? url, from, to);
    return Buffer.from(encodeBundledLog(await memberOf(entries, watchKeyOf(jobId), policy, consistencyOf)));
  }

  private async end(
    { id }: LogOutboxEntry,
    outcome: Partial<Pick<LogOutboxEntry, 'proof' | 'member' | 'code'>>,
  ): Promise<void> {
    await this.database.manager.update(LogOutboxEntry, { id }, { ...outcome, endedAt: this.clock.now() });
  }
}

const isPolicy = ({ kind }: LogOutboxEntry): boolean => kind === 'policy';

/** What key brokers logged of the job's releases. */
async function releasesOf(manager: EntityManager, jobId: string) {
  const rows = [...(await manager.findBy(KeyRelease, { jobId })), ...(await manager.findBy(Worker, { jobId }))];
  const ofSessions = rows.flatMap(({ release }) => (release as unknown as StoredRelease | null)?.logged ?? []);
  const ofProvers = (await manager.findBy(ProverKey, { jobId })).flatMap((row) => row.logged as LoggedEntries);
  const logged = [...ofSessions, ...ofProvers];
  return [...new Map(logged.map((one) => [one.entry, one])).values()];
}

/** A policy that nobody can read is logged by its digest. */
function namedIn(policy: Uint8Array): { id: string; validFrom: number } {
  try {
    const { id, notBefore } = decodePolicy(policy);
    return { id: id.slice(0, 128), validFrom: notBefore };
  } catch (error) {
    if (error instanceof CodedError) return { id: '', validFrom: 0 };
    throw error;
  }
}

const random = (size: number): Uint8Array => new Uint8Array(randomBytes(size));
