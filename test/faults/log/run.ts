/**
 * One seed: entries are submitted to replicas that are killed, put to sleep, left without disk or database, and to a log
 * whose backup was restored. At the end every entry must be in the log, once, at the place that was proved of it, and no
 * signed checkpoint that left a process may be of another history.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError, toHex } from '#attestation/base';
import { leafHash, makePublicEntry, parseCheckpoint, parseLogProof, treeRoot } from '#attestation/log';
import { LogService, recoverLog, TileReader, type LogDatabase } from '#libs/log';
import { logKeyOf } from '#test/log-keys';
import { issuerOf } from '#test/log-site';
import { Faulty } from './faulty.js';
import type { LogFault, LogPlan, Restore } from './plan.js';
import { plantedParts, type LogPlant } from './plants.js';
import { makeWorld, type Engines, type World } from './world.js';

export interface LogRun {
  readonly seed: number;
  readonly engine: LogPlan['engine'];
  readonly entries: number;
  /** Proofs that were given before the log came to rest. */
  readonly proved: number;
  readonly notes: number;
  readonly faults: readonly LogFault['kind'][];
  readonly restored: Restore | null;
  readonly violations: readonly string[];
}

interface Offered {
  readonly entry: Uint8Array;
  readonly leaf: string;
  /** Where proofs said that it stands. */
  readonly places: Set<number>;
}

interface Replica {
  readonly service: LogService;
  readonly faulty: Faulty;
  end(): Promise<void>;
}

const issuer = issuerOf('broker.example');
const proofWithinMs = 1000;

export async function runLog(plan: LogPlan, engines: Engines, plant: LogPlant | null = null): Promise<LogRun> {
  const world = await makeWorld(engines, plan.engine);
  const faults: LogFault['kind'][] = [];
  const offered: Offered[] = [];
  const violations: string[] = [];
  let backup: Backup | null = null;
  let restored: Restore | null = null;
  const start = (name: string, planned: readonly LogFault[]) =>
    startReplica(world, name, planned, plant, (kind) => faults.push(kind));
  const looking = lookOften(world);
  try {
    for (const [place, phase] of plan.phases.entries()) {
      if (phase.restore !== null && backup !== null) {
        restored = phase.restore;
        await restore(world, backup, phase.restore, plant, violations);
      }
      const replicas = (
        await Promise.all(phase.replicas.map((planned, at) => start(`${place}-${at}`, planned).catch(onlyKilled)))
      ).filter((one) => one !== null);
      const fresh = await offerAll(world, replicas, phase.entries, `${place}`);
      offered.push(...fresh);
      await Promise.all(replicas.map((one) => one.end()));
      if (place === 0) backup = await takeBackup(world);
    }
    const proved = offered.filter(({ places }) => places.size > 0).length;
    const last = await start('last', []);
    await settle(last, offered, plant === null ? 30_000 : 2000, violations);
    await last.end();
    await looking.end();
    violations.push(...(await audit(world, offered)));
    return {
      ...{ seed: plan.seed, engine: plan.engine, entries: offered.length, proved, notes: world.notes.size },
      ...{ faults, restored, violations },
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const known = { seed: plan.seed, engine: plan.engine, entries: offered.length, proved: 0, notes: world.notes.size };
    return { ...known, faults, restored, violations: [...violations, `the log does not come to rest: ${why}`] };
  } finally {
    await looking.end();
    await world.close();
  }
}

/** A replica may die before it is ready. */
function onlyKilled(error: unknown): null {
  if (error instanceof ConfigurationError) throw error;
  return null;
}

async function startReplica(
  world: World,
  name: string,
  faults: readonly LogFault[],
  plant: LogPlant | null,
  onFault: (kind: LogFault['kind']) => void,
): Promise<Replica> {
  const database = await world.connect(name);
  const endSessions = () => world.endSessions(name);
  const faulty = new Faulty({ database, store: world.store, files: world.files, faults, endSessions, onFault });
  const { key, sign } = logKeyOf(world.origin);
  const blind = plant === 'looks-back-at-nothing';
  const policy = blind
    ? { ...world.policy, witnesses: world.policy.witnesses.map((one) => ({ ...one, url: null })), quorum: null }
    : world.policy;
  const service = new LogService({
    ...plantedParts(plant, faulty, world.origin),
    ...{ key, policy, issuers: [issuer], intervalMs: 10, now: () => Math.floor(Date.now() / 1000) },
    sign: (text) => {
      const signature = sign(text);
      const early = plant === 'early-signature' ? noteOf(text, signature, key.name) : null;
      if (early !== null) void world.leaves(early).catch(() => undefined);
      return signature;
    },
    onFailure: () => undefined,
  });
  const end = async (): Promise<void> => {
    faulty.kill();
    await service.stop();
    if (database !== world.admin) await database.close();
  };
  try {
    await service.start();
  } catch (error) {
    await end();
    throw error;
  }
  return { service, faulty, end };
}

function noteOf(text: string, signature: Uint8Array, name: string): string {
  return `${text}\n— ${name} ${Buffer.concat([new Uint8Array(4), signature]).toString('base64')}\n`;
}

/** Entries one after the other to whoever lives; some are submitted twice. */
async function offerAll(world: World, replicas: readonly Replica[], count: number, phase: string): Promise<Offered[]> {
  const offered: Offered[] = [];
  const answers: Promise<void>[] = [];
  for (let at = 0; at < count; at++) {
    const body = { id: `${phase}-${at}`, digest: new Uint8Array(32), document: null, signers: [], validFrom: 0 };
    const entry = await makePublicEntry(issuer, 'policy', body, Math.floor(Date.now() / 1000));
    const one = { entry, leaf: toHex(leafHash(entry)), places: new Set<number>() };
    offered.push(one);
    const living = replicas.filter(({ faulty }) => !faulty.isKilled);
    const asked = at % 5 === 4 ? living : living.slice(at % Math.max(1, living.length)).slice(0, 1);
    answers.push(...asked.map((replica) => submit(world, replica, one)));
    if (at % 6 === 5) await sleep(15);
  }
  await Promise.all(answers);
  return offered;
}

async function submit(world: World, { service, faulty }: Replica, one: Offered): Promise<void> {
  try {
    const taken = await service.submit(one.entry);
    const proof = await Promise.race([service.proofWithin(taken, 'witnessed', proofWithinMs), faulty.end]);
    if (proof !== null) hear(world, one, proof);
  } catch {
    // Whoever is told that something failed submits again.
  }
}

function hear(world: World, one: Offered, proof: string): void {
  one.places.add(parseLogProof(proof).index);
  world.notes.add(proof.slice(proof.indexOf('\n\n') + 2));
}

/** Whoever has no proof submits again, until everybody has one. */
async function settle(
  { service }: Replica,
  offered: readonly Offered[],
  withinMs: number,
  violations: string[],
): Promise<void> {
  const without = async (one: Offered): Promise<boolean> => {
    const proof = await service.proofWithin(await service.submit(one.entry), 'witnessed', withinMs);
    if (proof !== null) one.places.add(parseLogProof(proof).index);
    return proof === null;
  };
  const lost = await Promise.all(offered.map(without));
  const count = lost.filter((one) => one).length;
  if (count > 0) violations.push(`${count} entries have no proof in the end`);
}

async function audit(world: World, offered: readonly Offered[]): Promise<string[]> {
  await world.look();
  const [row] = await world.admin.query<{ served: string }>('SELECT served FROM log WHERE origin = $1', [world.origin]);
  const { size, root } = parseCheckpoint(row!.served);
  const reader = new TileReader(world.store.read, size);
  const leaves = await Promise.all(Array.from({ length: size }, (_, index) => reader.leaf(index)));
  const names = leaves.map(toHex);
  const found: string[] = [...new Set(world.early)];
  if (toHex(treeRoot(leaves)) !== toHex(root)) found.push('the files do not give the root that is served');
  for (const [at, { leaf, places }] of offered.entries()) {
    const times = names.filter((name) => name === leaf).length;
    if (times !== 1) found.push(`entry ${at} is in the log ${times} times`);
    for (const index of places)
      if (names[index] !== leaf) found.push(`entry ${at} was proved at ${index}, and is not there`);
  }
  if (new Set(names).size > offered.length) found.push('the log has entries that nobody submitted');
  for (const note of world.notes) {
    const seen = parseCheckpoint(note);
    const isOfHistory = seen.size <= size && toHex(treeRoot(leaves.slice(0, seen.size))) === toHex(seen.root);
    if (!isOfHistory) found.push(`a checkpoint of ${seen.size} entries that was signed is of another history`);
  }
  for (let bundle = 0; bundle * 256 < size; bundle++) await reader.entries(bundle);
  return found;
}

interface Backup {
  readonly rows: ReadonlyMap<string, readonly Record<string, unknown>[]>;
  readonly checkpoint: Uint8Array | null;
  readonly published: number;
}

const tables = ['log', 'log_pending', 'log_entry', 'log_witnessed'];

async function takeBackup({ admin, origin, store }: World): Promise<Backup> {
  const rows = new Map<string, Record<string, unknown>[]>();
  await admin.transaction(async (sql) => {
    for (const table of tables) rows.set(table, await sql.query(`SELECT * FROM ${table} WHERE origin = $1`, [origin]));
  });
  return {
    rows,
    checkpoint: await store.read('checkpoint'),
    published: Number(rows.get('log')![0]?.['published'] ?? 0),
  };
}

/** Puts the backup back, and demands that no replica starts on it where more was published since; then mends it. */
async function restore(
  world: World,
  backup: Backup,
  what: Restore,
  plant: LogPlant | null,
  violations: string[],
): Promise<void> {
  const { admin, origin, store } = world;
  const newest = await store.read('checkpoint');
  const published = newest === null ? 0 : parseCheckpoint(new TextDecoder().decode(newest)).size;
  await admin.transaction(async (sql) => {
    for (const table of tables) await sql.query(`DELETE FROM ${table} WHERE origin = $1`, [origin]);
    for (const [table, rows] of backup.rows) for (const row of rows) await insert(sql, table, row);
  });
  if (what === 'rows-and-checkpoint' && backup.checkpoint !== null) await store.write('checkpoint', backup.checkpoint);
  if (plant === 'looks-back-at-nothing') return;
  const outcome = await startReplica(world, 'restored', [], plant, () => undefined).then(
    (replica) => replica,
    (error: unknown) => (error instanceof ConfigurationError ? error.code : Promise.reject(error as Error)),
  );
  if (typeof outcome !== 'string') await outcome.end();
  const size = Number(backup.rows.get('log')![0]?.['size'] ?? 0);
  const witnessed = await world.witnessed();
  const witnessedSize = witnessed === null ? 0 : parseCheckpoint(witnessed).size;
  const seen = what === 'rows' ? Math.max(published, witnessedSize) : witnessedSize;
  if (seen > size && outcome !== 'LOG_BEHIND') violations.push(`a log started on a backup of ${size} of ${published}`);
  if (newest === null) return;
  await store.write('checkpoint', newest);
  const { key, sign } = logKeyOf(origin);
  if (Math.max(published, witnessedSize) > size) {
    await recoverLog({ database: admin, store, key, sign }, witnessed === null ? [] : [witnessed]);
  }
}

async function insert(sql: Pick<LogDatabase, 'query'>, table: string, row: Record<string, unknown>): Promise<void> {
  const names = Object.keys(row);
  const values = names.map((name) => {
    const value = row[name];
    return value instanceof Uint8Array ? Buffer.from(value) : value;
  });
  const places = names.map((_, at) => `$${at + 1}`).join(', ');
  await sql.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, values);
}

/** Readers who poll the row and the file all the time. */
function lookOften(world: World): { end(): Promise<void> } {
  let isOver = false;
  const loop = (async () => {
    while (!isOver) {
      await world.look();
      await sleep(5);
    }
  })();
  return {
    end: () => {
      isOver = true;
      return loop;
    },
  };
}
