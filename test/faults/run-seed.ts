/** One seed: one job, its faults, and what must be true after them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '#attestation/base';
import { type Terms } from '#attestation/records';
import type { JobView, ServerEvent } from '#libs/client';
import {
  checkDatabase,
  checkNobodyPaidBeside,
  checkNothingLost,
  checkPaidOnce,
  checkRecords,
  headOf,
  storedCheckpoints,
  unpublished,
} from './checks.js';
import type { FaultCluster } from './cluster.js';
import { checkGrants } from './grants.js';
import { inject, type Effect } from './inject.js';
import type { FaultClient } from './jobs.js';
import { checkMoney } from './money.js';
import {
  cutsOff,
  describe,
  heldAt,
  successorHeldAt,
  type Fault,
  type Moment,
  type Plan,
  type PlannedFault,
} from './plan.js';
import { randomOf } from './random.js';
import { checkReason } from './reasons.js';

export interface SeedReport {
  readonly seed: number;
  readonly jobId: string;
  /** State that the job ended in, and why where it was not settled. */
  readonly end: string;
  readonly code: string | null;
  readonly attempts: number;
  /** Workers at a time. */
  readonly parallel: number;
  /** How often an attestation was renewed under it. */
  readonly renewals: number;
  readonly faults: readonly string[];
  /** Faults whose moment came, each with what it did. */
  readonly injected: readonly Injected[];
  readonly seconds: number;
  /** How often a node was told that its lease is over. */
  readonly refusedLate: number;
  readonly violations: readonly string[];
}

interface Injected {
  readonly kind: Fault['kind'];
  readonly effect: Effect;
}

/** After the last fault is over. */
const endWithinMs = 180_000;
/** How long a node that is cut off trains on before nobody else may: less than a lease. */
const aloneMs = 2500;
/** How long it may take until it is heard again. */
const heardWithinMs = 3000;
const endStates = ['settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'];

export async function runSeed(plan: Plan, cluster: FaultCluster, client: FaultClient): Promise<SeedReport> {
  const began = performance.now();
  const fromBlock = (await patiently(() => headOf(client.profile))) + 1;
  const refusedBefore = cluster.refusedLate();
  const held = heldAt(plan);
  if (held !== null) cluster.gate.holdAt(held);
  const submitted = await client.submit(plan);
  const { jobId, terms } = submitted;
  const over = new AbortController();
  const watch = watchJob(client, jobId, over.signal);
  if (plan.renews) void watch.renewed.then(() => cluster.gate.open());
  const injected: Injected[] = [];
  const disturbed = plan.faults.map(async (planned, index) => {
    if (!(await watch.reached(planned.moment))) return;
    await sleep(planned.moment.afterMs);
    const effect = await disturb(planned, cluster, { plan, jobId }, plan.seed + index);
    injected.push({ kind: planned.fault.kind, effect });
  });
  const faults = Promise.allSettled(disturbed);
  const violations: string[] = [];
  const withinMs = endWithinMs + Math.max(0, ...plan.faults.map(({ forMs }) => forMs));
  const late = sleep(withinMs, 'late' as const, over).catch(() => 'late' as const);
  const settled = settle(client, jobId, watch, over.signal);
  const outcome = await Promise.race([settled, late]);
  watch.end();
  violations.push(...(await faults).flatMap((fault) => (fault.status === 'rejected' ? [String(fault.reason)] : [])));
  over.abort();
  await restore(cluster);
  const job = await findJob(client, jobId);
  violations.push(
    ...(job === null
      ? ['an acknowledged submission is gone']
      : await judge({ job, terms, outcome, told: watch.told, plan, fromBlock }, cluster, client)),
  );
  return {
    seed: plan.seed,
    jobId,
    end: job?.state ?? 'gone',
    code: job?.code ?? null,
    attempts: job?.attempt ?? 0,
    parallel: plan.parallel,
    renewals: watch.told.filter(({ type }) => type === 'renewed').length,
    faults: plan.faults.map(describe),
    injected,
    seconds: Math.round((performance.now() - began) / 100) / 10,
    refusedLate: cluster.refusedLate() - refusedBefore,
    violations,
  };
}

interface Case {
  readonly job: JobView;
  readonly terms: Terms;
  /** Digest of the final state, or what there was instead of one. */
  readonly outcome: string | null | Error;
  readonly told: readonly ServerEvent[];
  readonly plan: Plan;
  /** First block of this seed. */
  readonly fromBlock: number;
}

/** @returns what must not be */
async function judge(
  { job, terms, outcome, told, plan, fromBlock }: Case,
  { system: { databaseUrl, folder } }: FaultCluster,
  client: FaultClient,
): Promise<string[]> {
  const violations: string[] = [];
  if (outcome === 'late')
    violations.push(`not at an end ${endWithinMs / 1000} s after the last fault: ${job.state} ${job.code ?? ''}`);
  else if (outcome instanceof Error) violations.push(`the client: ${textOf(outcome)}`);
  else if (outcome !== null && outcome !== (await client.undisturbed(plan))) violations.push('another final state');
  if (job.state === 'settled') {
    violations.push(...(await checkPaidOnce(terms, client.profile)));
    if (databaseUrl !== null) violations.push(...(await checkDatabase(databaseUrl, job.id, plan)));
  }
  violations.push(...checkReason(job, plan));
  if (job.state !== 'settled') await reclaim(client, terms);
  violations.push(...(await checkMoney(terms, job.state === 'settled', client.profile)));
  violations.push(...(await checkNobodyPaidBeside(client.profile, fromBlock)));
  violations.push(...checkNothingLost(told, await storedEvents(client, job.id)));
  if (databaseUrl === null) return violations;
  violations.push(...(await checkRecords(databaseUrl, job.id)));
  const stored = await storedCheckpoints(databaseUrl, job.id);
  violations.push(...(await checkGrants(folder, { jobId: job.id, terms }, stored, client)));
  if (!(await outboxDrains(databaseUrl))) violations.push('events stay in the outbox');
  return violations;
}

/** What nobody has accepted is the client's at once. */
async function reclaim({ chain: { escrow } }: FaultClient, terms: Terms): Promise<void> {
  if ((await escrow.job(terms)).state === 'Open') await escrow.cancel(terms);
}

/** null: there is none. */
function findJob({ api }: FaultClient, jobId: string): Promise<JobView | null> {
  return patiently(() =>
    api.get<JobView>(`jobs/${jobId}`).catch((error: unknown) => {
      if (isUnknown(error)) return null;
      throw error;
    }),
  );
}

const isUnknown = (error: unknown): boolean => error instanceof CodedError && error.code === 'JOB_UNKNOWN';

async function disturb(
  { fault, forMs }: PlannedFault,
  cluster: FaultCluster,
  { plan, jobId }: { readonly plan: Plan; readonly jobId: string },
  seed: number,
): Promise<Effect> {
  const repair = await inject(fault, cluster, randomOf(seed), jobId);
  if (!cutsOff(fault)) {
    await sleep(forMs);
    return repair();
  }
  cluster.gate.open();
  await sleep(aloneMs);
  cluster.gate.holdAt(successorHeldAt(plan));
  await sleep(forMs - aloneMs);
  const effect = await repair();
  await sleep(heardWithinMs);
  cluster.gate.open();
  return effect;
}

async function restore(cluster: FaultCluster): Promise<void> {
  cluster.gate.open();
  for (const link of cluster.links) link.repair();
  for (const part of cluster.parts) cluster.namespaceOf(part)?.plug(true);
  await cluster.heal();
}

/** @returns the digest of the final state; null when the job ended without one; what went wrong for the client */
async function settle(
  client: FaultClient,
  jobId: string,
  watch: Watch,
  stop: AbortSignal,
): Promise<string | null | Error> {
  const end = await watch.ended;
  if (end !== 'delivered' && end !== 'settled') return null;
  for (;;) {
    try {
      return (await client.settle(jobId)).stateDigest;
    } catch (error) {
      if (stop.aborted || !isPassing(error)) return error as Error;
      await sleep(300);
    }
  }
}

/** Nobody answered: everything else is a verdict. */
function isPassing(error: unknown): boolean {
  if (error instanceof CodedError) return error.family === 'collateral';
  return (
    !(error instanceof Error) ||
    /fetch failed|aborted|timeout|ECONN|socket|terminated|network|SERVER_ERROR/i.test(error.message)
  );
}

interface Watch {
  /** Everything that was told, in order, each event once. */
  readonly told: readonly ServerEvent[];
  /** State in which the job is delivered or at an end. */
  readonly ended: Promise<string>;
  /** Its session's attestation was. */
  readonly renewed: Promise<void>;
  /** False when the job is over and the moment never came. */
  reached(moment: Moment): Promise<boolean>;
  end(): void;
}

function watchJob(client: FaultClient, jobId: string, stop: AbortSignal): Watch {
  const told: ServerEvent[] = [];
  const waiting: { readonly moment: Moment; resolve(came: boolean): void }[] = [];
  const over = new AbortController();
  let finish: (state: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (finish = resolve));
  let renew: () => void = () => undefined;
  const renewed = new Promise<void>((resolve) => (renew = resolve));
  const came = ({ at, checkpoint }: Moment): boolean => {
    if (at === 'submitted') return true;
    if (at === 'checkpoint') return told.filter(({ type }) => type === 'checkpoint').length >= checkpoint;
    return told.some(({ type, data }) => type === 'state' && (data as { to: string }).to === at);
  };
  const onEvent = (event: ServerEvent): void => {
    told.push(event);
    if (event.type === 'renewed') renew();
    for (const entry of waiting) if (came(entry.moment)) entry.resolve(true);
    const to = event.type === 'state' ? (event.data as { to: string }).to : '';
    if (to === 'delivered' || endStates.includes(to)) finish(to);
  };
  const isOver = async (): Promise<boolean> =>
    endStates.includes((await client.api.get<JobView>(`jobs/${jobId}`)).state);
  void (async () => {
    const seen = new Set<string>();
    const once = (event: ServerEvent): void => {
      const text = JSON.stringify(event);
      if (!seen.has(text)) onEvent(event);
      seen.add(text);
    };
    const both = AbortSignal.any([stop, over.signal]);
    while (!both.aborted) {
      const isDone = await client.api.events(`jobs/${jobId}/events`, once, isOver, both).then(
        () => true,
        (error: unknown) => {
          if (isUnknown(error)) finish('gone');
          return isUnknown(error);
        },
      );
      if (isDone) break;
      await sleep(200);
    }
  })();
  return {
    told,
    ended,
    renewed,
    reached: (moment) =>
      new Promise((resolve) => {
        if (came(moment)) return resolve(true);
        waiting.push({ moment, resolve });
        over.signal.addEventListener('abort', () => resolve(false));
      }),
    end: () => over.abort(),
  };
}

async function storedEvents(client: FaultClient, jobId: string): Promise<ServerEvent[]> {
  return patiently(async () => {
    const events: ServerEvent[] = [];
    await client.api.events(
      `jobs/${jobId}/events`,
      (event) => events.push(event),
      async () => true,
      AbortSignal.timeout(20_000),
    );
    return events;
  });
}

async function outboxDrains(databaseUrl: string): Promise<boolean> {
  for (let attempt = 0; attempt < 60; attempt++) {
    if ((await patiently(() => unpublished(databaseUrl))) === 0) return true;
    await sleep(500);
  }
  return false;
}

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 60) throw error;
      await sleep(500);
    }
  }
}

function textOf(error: Error): string {
  return error instanceof CodedError ? JSON.stringify(error.toJSON()) : String(error.stack ?? error);
}
