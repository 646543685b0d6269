/** What must be true at the end of every seed, whatever went wrong under it. */
import { Contract, JsonRpcProvider } from 'ethers';
import pg from 'pg';
import { escrowIdOf, type Terms } from '#attestation/records';
import type { Profile, ServerEvent } from '#libs/client';
import { settlementAbi } from '#libs/settlement';
import type { StoredCheckpoint } from './grants.js';
import type { Plan } from './plan.js';

/** @returns the violations */
export async function checkPaidOnce(terms: Terms, { chain }: Profile): Promise<string[]> {
  const rpc = new JsonRpcProvider(chain.rpcUrl, undefined, { cacheTimeout: -1 });
  try {
    const contract = new Contract(chain.deployment.settlement, settlementAbi, rpc);
    const violations: string[] = [];
    for (const event of ['JobOpened', 'JobAccepted', 'JobStarted', 'JobCommitted', 'KeyRevealed', 'JobEnded']) {
      const seen = await contract.queryFilter(contract.getEvent(event)(escrowIdOf(terms)), 0);
      if (seen.length !== 1) violations.push(`${seen.length} times ${event} on chain, expected once`);
    }
    return violations;
  } finally {
    rpc.destroy();
  }
}

/** Value may go into the escrow and nowhere else by itself: what a provider gets, the contract pays. */
export async function checkNobodyPaidBeside({ chain }: Profile, fromBlock: number): Promise<string[]> {
  const rpc = new JsonRpcProvider(chain.rpcUrl, undefined, { cacheTimeout: -1 });
  try {
    const violations: string[] = [];
    const head = await rpc.getBlockNumber();
    for (let number = fromBlock; number <= head; number++) {
      for (const { value, to, from, hash } of (await rpc.getBlock(number, true))!.prefetchedTransactions) {
        if (value === 0n || to?.toLowerCase() === chain.deployment.settlement.toLowerCase()) continue;
        violations.push(`a payment beside the escrow: ${from} paid ${value} wei to ${to} in ${hash}`);
      }
    }
    return violations;
  } finally {
    rpc.destroy();
  }
}

export async function headOf({ chain }: Profile): Promise<number> {
  const rpc = new JsonRpcProvider(chain.rpcUrl, undefined, { cacheTimeout: -1 });
  try {
    return await rpc.getBlockNumber();
  } finally {
    rpc.destroy();
  }
}

/** Events that the control plane sent: each is there for good, as it was said. */
export function checkNothingLost(told: readonly ServerEvent[], stored: readonly ServerEvent[]): string[] {
  const known = new Set(stored.map((event) => JSON.stringify(event)));
  return told
    .filter((event) => !known.has(JSON.stringify(event)))
    .map((event) => `an event that was told is gone: ${JSON.stringify(event).slice(0, 300)}`);
}

interface Rows {
  readonly leases: { fence: number; state: string }[];
  readonly receipts: { step_from: string; step_to: string }[];
  readonly deliveries: string;
  readonly segments: { index: number; node_id: string; fence: number; worker_id: string | null }[];
  readonly unpublished: string;
  /** In the order in which they were committed. */
  readonly events: StoredEvent[];
  readonly announced: { topic: string; count: string }[];
  readonly checkpoints: readonly StoredCheckpoint[];
}

interface StoredEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Each state follows the one before, and only the newest lease's fence is heard of. */
export function checkHistory(events: readonly StoredEvent[]): string[] {
  const violations: string[] = [];
  let state: unknown;
  let fence: unknown;
  for (const { type, data } of events) {
    if (type === 'state') {
      if (state !== undefined && data['from'] !== state)
        violations.push(`a state after ${String(state)} that says it follows ${String(data['from'])}`);
      state = data['to'];
      fence = data['fence'];
    } else if ((type === 'checkpoint' || type === 'delivery') && data['fence'] !== fence) {
      violations.push(`a ${type} under fence ${String(data['fence'])} while ${String(fence)} is the newest`);
    }
  }
  return violations;
}

/** Every change of state, but for the submission itself, stands in the outbox once. */
export function checkAnnounced(events: readonly StoredEvent[], announced: Rows['announced']): string[] {
  const count = new Map(announced.map(({ topic, count: times }) => [topic, Number(times)]));
  const states = events
    .filter(({ type, data }) => type === 'state' && data['from'] !== null)
    .map(({ data }) => `job.${String(data['to'])}.v1`);
  return [...new Set(states)].flatMap((topic) => {
    const expected = states.filter((name) => name === topic).length;
    const found = count.get(topic) ?? 0;
    return found === expected ? [] : [`${found} outbox rows ${topic}, expected ${expected}`];
  });
}

/** What the database must look like under a settled job. */
export async function checkDatabase(
  databaseUrl: string,
  jobId: string,
  { steps, segmentSteps, parallel }: Pick<Plan, 'steps' | 'segmentSteps' | 'parallel'>,
): Promise<string[]> {
  const rows = await readRows(databaseUrl, jobId);
  const violations: string[] = [];
  const fences = rows.leases.map(({ fence }) => fence);
  if (fences.some((fence, index) => fence !== index + 1)) violations.push(`fences ${fences.join()}, expected 1, 2, …`);
  const active = rows.leases.filter(({ state }) => state === 'active' || state === 'done');
  if (active.length > 1) violations.push(`${active.length} leases that are active or done`);
  let at = 0;
  for (const { step_from: from, step_to: to } of rows.receipts) {
    if (Number(from) !== at) violations.push(`a receipt from step ${from}, expected ${at}`);
    at = Number(to);
  }
  if (at !== steps) violations.push(`receipts up to step ${at}, expected ${steps}`);
  if (rows.deliveries !== '1') violations.push(`${rows.deliveries} deliveries`);
  if (parallel > 1) violations.push(...checkSegments(rows.events, rows.segments, steps / segmentSteps));
  return violations;
}

/** Every segment of every round counts once: the partial of its newest claim, and nobody claims it after that. */
export function checkSegments(events: readonly StoredEvent[], rows: Rows['segments'], count: number): string[] {
  const said = events.filter(({ type }) => type === 'segment').map(({ data }) => data);
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const own = said.filter((data) => data['index'] === index);
    const [claims, done] = [own.filter((data) => data['done'] !== true), own.filter((data) => data['done'] === true)];
    const row = rows.find((one) => one.index === index);
    const isOnce = done.length === 1 && own.at(-1) === done[0] && row?.worker_id != null;
    const isNewest =
      row?.fence === claims.length && [claims.at(-1), done[0]].every((o) => o?.['nodeId'] === row.node_id);
    return isOnce && isNewest ? [] : [`segment ${index}: ${JSON.stringify(own)}, stored ${JSON.stringify(row)}`];
  });
}

/** What the database must look like under any job. */
export async function checkRecords(databaseUrl: string, jobId: string): Promise<string[]> {
  const { events, announced } = await readRows(databaseUrl, jobId);
  return [...checkHistory(events), ...checkAnnounced(events, announced)];
}

export async function storedCheckpoints(databaseUrl: string, jobId: string): Promise<readonly StoredCheckpoint[]> {
  return (await readRows(databaseUrl, jobId)).checkpoints;
}

async function readRows(databaseUrl: string, jobId: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const query = async <T>(sql: string, parameters: unknown[] = [jobId]): Promise<T[]> =>
      (await client.query(sql, parameters)).rows as T[];
    const [deliveries] = await query<{ count: string }>('SELECT count(*) FROM delivery WHERE job_id = $1');
    const [unpublished] = await query<{ count: string }>('SELECT count(*) FROM outbox WHERE published_at IS NULL', []);
    return {
      leases: await query('SELECT fence, state FROM lease WHERE job_id = $1 ORDER BY fence'),
      receipts: await query('SELECT step_from, step_to FROM receipt WHERE job_id = $1 ORDER BY step_from'),
      deliveries: deliveries!.count,
      segments: await query('SELECT index, node_id, fence, worker_id FROM worker_segment WHERE job_id = $1'),
      unpublished: unpublished!.count,
      events: await query('SELECT type, data FROM job_event WHERE job_id = $1 ORDER BY id'),
      checkpoints: await query('SELECT step, blob FROM checkpoint WHERE job_id = $1 ORDER BY step'),
      announced: await query('SELECT topic, count(*) FROM outbox WHERE subject = $1 GROUP BY topic'),
    };
  } finally {
    await client.end();
  }
}

/** Events that no server has taken yet. */
export async function unpublished(databaseUrl: string): Promise<number> {
  return Number((await readRows(databaseUrl, '')).unpublished);
}
