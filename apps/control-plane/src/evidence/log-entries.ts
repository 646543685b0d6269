/** What this control plane brought to the transparency log, and what waits: for people who look at it. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { parseLogProof } from '#attestation/log';
import type { LogOutboxEntry } from '#libs/persistence';
import { isGlobal, type Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { decodeCursor, pageOf, type Page } from '../core/paging.js';

export const NamedLog = z
  .object({
    origin: z.string(),
    /** null: where the settings say. */
    url: z.string().nullable(),
  })
  .meta({ id: 'NamedLog' });
export const LogState = z
  .object({
    /** Where entries go; null: this control plane uses no log. */
    url: z.string().nullable(),
    logs: z.array(NamedLog),
    /** Of the trust policy, by their names there. */
    witnesses: z.array(z.string()),
    /** Witness or group that must have seen an entry; null: nobody. */
    quorum: z.string().nullable(),
    logged: z.int(),
    waiting: z.int(),
  })
  .meta({ id: 'LogState' });
export const LogEntryView = z
  .object({
    id: z.string(),
    /** `policy` or `job-bundle`. */
    kind: z.string(),
    /** Digest of the policy, or id of the job. */
    subject: z.string(),
    /** Of the bundle that it names. */
    bundle: z.string().nullable(),
    state: z.enum(['waiting', 'logged', 'nothing']),
    /** Why it waits, or why there was nothing to log. */
    code: z.string().nullable(),
    attempts: z.int(),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
    origin: z.string().nullable(),
    index: z.int().nullable(),
    /** The entry itself, base64. */
    entry: z.string().nullable(),
    /** tlog-proof under a witnessed checkpoint (attestation/LOG.md). */
    proof: z.string().nullable(),
  })
  .meta({ id: 'LogEntry' });
export const LogEntryPage = z
  .object({ items: z.array(LogEntryView), nextCursor: z.string().nullable() })
  .meta({ id: 'LogEntryPage' });
export type LogState = z.infer<typeof LogState>;
export type LogEntryView = z.infer<typeof LogEntryView>;

interface Asked {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Entries of this job alone. */
  readonly job?: string | undefined;
}

@Injectable()
export class LogEntries {
  constructor(
    private readonly database: DataSource,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async state(caller: Principal): Promise<LogState> {
    const [counted] = await this.database.query<{ logged: number; waiting: number }[]>(
      `SELECT count(*) FILTER (WHERE l.proof IS NOT NULL)::int AS logged,
              count(*) FILTER (WHERE l.ended_at IS NULL)::int AS waiting ${ofCaller(caller)}`,
      tenantOf(caller),
    );
    const { log } = this.config;
    if (log === null) return { url: null, logs: [], witnesses: [], quorum: null, ...counted! };
    const { logs, witnesses, quorum } = log.policy;
    return {
      ...{ url: log.url, quorum, ...counted! },
      logs: logs.map(({ key, url }) => ({ origin: key.name, url: url ?? null })),
      witnesses: witnesses.map(({ name }) => name),
    };
  }

  /** Newest first. */
  async list(caller: Principal, { limit, cursor, job }: Asked): Promise<Page<LogEntryView>> {
    const before = cursor === undefined ? null : decodeCursor(cursor);
    const values = tenantOf(caller);
    const own = isGlobal(caller) ? 1 : 2;
    const rows = await this.database.query<Row[]>(
      `SELECT l.id::text AS id, l.kind, l.subject, l.bundle, l.entry, l.proof, l.attempts, l.code,
              l.created_at AS "createdAt", l.ended_at AS "endedAt" ${ofCaller(caller)}
          AND ($${own}::bigint IS NULL OR l.id < $${own}) AND ($${own + 1}::text IS NULL OR j.id = $${own + 1})
        ORDER BY l.id DESC LIMIT $${own + 2}`,
      [...values, before, job ?? null, limit + 1],
    );
    return pageOf(rows, limit, ({ id }) => id, viewOf);
  }
}

type Row = Pick<
  LogOutboxEntry,
  'id' | 'kind' | 'subject' | 'bundle' | 'entry' | 'proof' | 'attempts' | 'code' | 'createdAt' | 'endedAt'
>;

/** A policy belongs to the job that it was first submitted with. */
function ofCaller(caller: Principal): string {
  const joined = `FROM log_outbox l JOIN job j ON j.id = COALESCE(l.data->>'job', l.subject)`;
  return `${joined} WHERE ${isGlobal(caller) ? 'true' : 'j.tenant = $1'}`;
}

const tenantOf = (caller: Principal): unknown[] => (isGlobal(caller) ? [] : [caller.tenant]);

function viewOf({ id, kind, subject, bundle, entry, proof, attempts, code, createdAt, endedAt }: Row): LogEntryView {
  const placed = proof === null ? null : parseLogProof(proof);
  return {
    ...{ id, kind, subject, bundle, proof, attempts, code },
    entry: entry === null ? null : Buffer.from(entry).toString('base64'),
    state: proof !== null ? 'logged' : endedAt === null ? 'waiting' : 'nothing',
    ...{ createdAt: createdAt.toISOString(), endedAt: endedAt?.toISOString() ?? null },
    ...{ origin: placed?.checkpoint.origin ?? null, index: placed?.index ?? null },
  };
}
