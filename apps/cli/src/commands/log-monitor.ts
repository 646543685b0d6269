/** `veritrain log monitor`: looks over the logs of a trust policy, and tells of what concerns whoever watches. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { CollateralError, ConfigurationError, fromHex, toHex } from '#attestation/base';
import type { TrustPolicy } from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readJson, writeWhole } from '#libs/client/files';
import {
  fetchNote,
  LogMisbehaved,
  monitorRound,
  TileReader,
  tilesOf,
  type MonitorAlert,
  type MonitorState,
  type Watch,
} from '#libs/log';
import { visibleText } from '#libs/review/text';
import type { LogAnchor } from '#libs/settlement';
import { anchorFault, anchorsOf, type ChainOptions } from './log-anchors.js';
import { holdProofs, readProofs } from './log-proofs.js';
import { log as say, type OutputOptions } from '../output.js';

export interface MonitorOptions extends OutputOptions, Partial<ChainOptions> {
  readonly logPolicy: string;
  readonly state: string;
  readonly watch?: string;
  readonly every?: number;
  readonly webhook?: string;
  readonly proof?: readonly string[];
}

/** Of the whole run: what was worst. */
export const monitorExits = { quiet: 0, failed: 1, alert: 2, misbehaved: 3 } as const;

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const WatchFile = z.strictObject({
  keys: z.record(z.string().max(128), hex).default({}),
  issuers: z.array(hex).max(10_000).default([]),
  names: z.array(z.string().max(128)).max(10_000).default([]),
  growsWithin: z.int().min(1).optional(),
});
type Watched = Watch & {
  /** Seconds within which the log has to have a new entry; absent: it may be still. */
  readonly growsWithin?: number | undefined;
};
const stateBytesMax = 1024 * 1024;
const webhookMs = 10_000;

type KeptState = MonitorState & {
  /** Size of the newest anchor that fits. */
  readonly anchored?: number;
  /** When the log was first seen at this size. Unix seconds. */
  readonly grownAt?: number;
};

interface Looked {
  readonly origin: string;
  readonly url: string;
  /** Of this log. */
  readonly kept: ReturnType<typeof readProofs>;
}

interface RoundReport {
  readonly at: string;
  readonly origin: string;
  readonly from: number;
  readonly to: number;
  readonly witnesses: number;
  readonly independent: number;
  readonly alerts: readonly MonitorAlert[];
}

/** @returns the exit status @throws ConfigurationError FILE_*, LOG_WATCH, LOG_URL; Rejection LOG_TRUST_POLICY */
export async function monitor(options: MonitorOptions): Promise<number> {
  const policy = readTrustPolicy(options.logPolicy);
  const watch = watchOf(options.watch);
  const proofs = readProofs(options.proof ?? [], policy);
  const logs = policy.logs.flatMap(({ key, url }) => (url === null ? [] : [{ origin: key.name, url }]));
  if (logs.length === 0) throw setting('LOG_URL', 'a log with an address in the trust policy', 'none');
  const unseen = proofs.find((proof) => !logs.some(({ origin }) => origin === proof.origin));
  if (unseen !== undefined) {
    throw setting('LOG_URL', `an address of ${unseen.origin}, whose proof ${unseen.file} is`, 'none');
  }
  let worst: number = monitorExits.quiet;
  for (;;) {
    for (const { origin, url } of logs) {
      const kept = proofs.filter((proof) => proof.origin === origin);
      const looked = look(options, policy, watch, { origin, url, kept });
      worst = Math.max(worst, await (options.every === undefined ? looked : looked.catch(toldOfSilence)));
    }
    if (options.every === undefined || worst === monitorExits.misbehaved) return worst;
    await sleep(options.every * 1000);
  }
}

/** Whoever looks again and again looks again: a log that cannot be asked for a while must not end the watch over it. */
function toldOfSilence(error: unknown): number {
  if (!(error instanceof CollateralError)) throw error;
  say(visibleText(error.message));
  return monitorExits.failed;
}

async function look(
  options: MonitorOptions,
  policy: TrustPolicy,
  watch: Watched,
  { origin, url, kept: proofs }: Looked,
) {
  const file = join(options.state, `${encodeURIComponent(origin)}.json`);
  const last = existsSync(file) ? (readJson(file, stateBytesMax) as KeptState) : null;
  try {
    // Before the checkpoint, which then has what was anchored.
    const anchors = await anchorsOf({ chainId: 31337, ...options }, origin);
    const { trusted, note } = await fetchNote(url, policy);
    const round = await monitorRound(trusted, note, tilesOf(url), last, watch, policy);
    const held = await holdAnchors(anchors, round.state, tilesOf(url), last?.anchored ?? 0);
    const short = await holdProofs(proofs, round.state, tilesOf(url));
    const { state } = round;
    const now = Math.floor(Date.now() / 1000);
    const grownAt = state.size === last?.size ? (last.grownAt ?? now) : now;
    const alerts = [...round.alerts, ...held.alerts, ...short, ...stillness(now - grownAt, watch)];
    writeWhole(file, JSON.stringify({ ...state, anchored: held.anchored, grownAt }));
    const counts = { witnesses: trusted.sightings.length, independent: trusted.independent.length };
    const at = new Date().toISOString();
    await report(options, { at, origin, from: last?.size ?? 0, to: state.size, ...counts, alerts });
    return alerts.length > 0 ? monitorExits.alert : monitorExits.quiet;
  } catch (error) {
    if (!(error instanceof LogMisbehaved)) throw error;
    const kept = join(options.state, `${encodeURIComponent(origin)}.evidence-${Date.now()}.json`);
    const detail = { code: error.code, expected: error.detail.expected, got: error.detail.got };
    writeWhole(kept, JSON.stringify({ ...detail, notes: error.notes }, null, 2));
    const what = `the log shows another history than before; what shows both is in ${kept}`;
    say(`${origin}: ${error.code}: ${what}`);
    const alerts = [{ code: error.code, index: null, what }];
    await notify(options, { at: new Date().toISOString(), origin, alerts });
    return monitorExits.misbehaved;
  }
}

function stillness(seconds: number, { growsWithin }: Watched): MonitorAlert[] {
  if (growsWithin === undefined || seconds <= growsWithin) return [];
  return [{ code: 'LOG_STILL', index: null, what: `no new entry for ${seconds} s` }];
}

/** All that were not held before. @throws LogMisbehaved LOG_ANCHOR */
async function holdAnchors(
  anchors: readonly LogAnchor[],
  { size, root, note }: MonitorState,
  read: ReturnType<typeof tilesOf>,
  before: number,
): Promise<{ readonly anchored: number; readonly alerts: readonly MonitorAlert[] }> {
  let anchored = before;
  for (const anchor of anchors.filter((one) => one.size > before)) {
    const fault = await anchorFault(anchor, { size, root: fromHex(root) }, new TileReader(read, size));
    if (fault?.code === 'LOG_ANCHOR_AHEAD') {
      const what = `${fault.detail.expected}, and the log shows ${fault.detail.got}`;
      return { anchored, alerts: [{ code: 'LOG_ANCHOR_AHEAD', index: null, what }] };
    }
    const { size: of, root: to, block, transaction } = anchor;
    if (fault !== null)
      throw new LogMisbehaved(fault, [note, `${of} ${toHex(to)} by ${transaction} in block ${block}`]);
    anchored = of;
  }
  return { anchored, alerts: [] };
}

async function report(options: MonitorOptions, round: RoundReport): Promise<void> {
  if (options.json === true) process.stdout.write(`${JSON.stringify(round)}\n`);
  else printRound(round);
  if (round.alerts.length > 0) await notify(options, round);
}

/** A listener that does not answer takes nothing from what was found. */
async function notify({ webhook }: MonitorOptions, round: object): Promise<void> {
  if (webhook === undefined) return;
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(webhookMs);
  const init: RequestInit = { method: 'POST', headers, body: JSON.stringify(round), signal, redirect: 'error' };
  const answer = await fetch(webhook, init).then(
    ({ ok, status }) => (ok ? null : `status ${status}`),
    (error: unknown) => String(error),
  );
  if (answer !== null) say(`${new URL(webhook).origin} was not told: ${answer}`);
}

function printRound(round: RoundReport): void {
  const { at, origin, from, to, witnesses, independent, alerts } = round;
  const seen = `${witnesses} witnesses, ${independent} independent`;
  const lines = [
    `${at}  ${origin}  ${from} → ${to}  consistent  ${seen}`,
    ...alerts.map(({ code, index, what }) => `  ALERT  ${code}  ${index === null ? '' : `#${index}  `}${what}`),
  ];
  for (const line of lines) process.stdout.write(`${visibleText(line)}\n`);
}

function watchOf(path: string | undefined): Watched {
  const read = WatchFile.safeParse(path === undefined ? {} : readJson(path, stateBytesMax));
  if (read.success) return read.data;
  const { message, path: where } = read.error.issues[0]!;
  throw setting('LOG_WATCH', `${where.join('.') || 'the file'}: ${message}`, 'something else');
}

function setting(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, { expected, got, rule: 'apps/cli/README.md' });
}

/** @throws InvalidArgumentError for what is no address of the web */
export function webhookUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('an http or https URL');
}

export function everySeconds(text: string): number {
  const value = /^(\d{1,6})s?$/.exec(text)?.[1];
  if (value === undefined || Number(value) < 1) throw new InvalidArgumentError('seconds, 1 or more, as 60s');
  return Number(value);
}
