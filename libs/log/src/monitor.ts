/**
 * Looks over a log again and again: that its checkpoint goes on from the last one, that every new entry stands in it, and
 * what the new entries say of whoever watches. The state moves only when all of it held.
 */
import { fromHex, Rejection, toHex } from '#attestation/base';
import { checkConsistency, entryTag, type LogEntry, type TrustedCheckpoint, type TrustPolicy } from '#attestation/log';
import { TileReader, type ReadFile } from './tiles/reader.js';
import { readEntries, RightEdge } from './whole.js';

/** What is kept between rounds: hexadecimal, so that it is JSON. */
export interface MonitorState {
  readonly origin: string;
  readonly size: number;
  readonly root: string;
  /** Roots of the perfect subtrees of the first `size` leaves, largest first. */
  readonly subtrees: readonly { readonly height: number; readonly hash: string }[];
  /** The signed note, to be held against another one. */
  readonly note: string;
}

/** What somebody watches for; hexadecimal without 0x. */
export interface Watch {
  /** Watch keys, by the name under which an alert tells of them. */
  readonly keys: Readonly<Record<string, string>>;
  /** Log keys (kid) that may speak for whoever watches. */
  readonly issuers: readonly string[];
  /** Names of issuers, images and ids of policies that are one's own. */
  readonly names: readonly string[];
}

export interface MonitorAlert {
  readonly code:
    | 'LOG_ENTRY_UNKNOWN'
    | 'LOG_ISSUER_UNKNOWN'
    | 'LOG_IMAGE_UNKNOWN'
    | 'LOG_POLICY_UNKNOWN'
    | 'LOG_REVOCATION'
    | 'LOG_ANCHOR_AHEAD'
    | 'LOG_UNWITNESSED'
    | 'LOG_STALE'
    | 'LOG_STILL';
  /** Null: about the log itself. */
  readonly index: number | null;
  readonly what: string;
}

/** Two signed notes that cannot both be of one log: evidence to be kept. */
export class LogMisbehaved extends Rejection {
  constructor(
    cause: Rejection,
    readonly notes: readonly [string, string],
  ) {
    super(cause.code, cause.detail);
  }
}

interface Round {
  readonly state: MonitorState;
  readonly entries: number;
  readonly alerts: readonly MonitorAlert[];
}

/**
 * @param last  null in the first round, which reads every entry
 * @throws LogMisbehaved LOG_CONSISTENCY, LOG_ROOT; Rejection LOG_TILE, LOG_ENTRY_*; CollateralError LOG_UNREACHABLE,
 *   LOG_TILE_MISSING
 */
export async function monitorRound(
  { checkpoint, witnessedAt }: TrustedCheckpoint,
  note: string,
  read: ReadFile,
  last: MonitorState | null,
  watch: Watch,
  policy: TrustPolicy,
): Promise<Round> {
  const { size, root, origin } = checkpoint;
  const alerts: MonitorAlert[] = [];
  if (policy.quorum !== null && witnessedAt === null) {
    alerts.push({ code: 'LOG_UNWITNESSED', index: null, what: `checkpoint ${size}: no quorum of ${policy.quorum}` });
  }
  if (last !== null && size < last.size) {
    alerts.push({ code: 'LOG_STALE', index: null, what: `checkpoint ${size}, after ${last.size} was seen` });
    return { state: last, entries: 0, alerts };
  }
  const reader = new TileReader(read, size);
  const misbehaved = (error: unknown): never => {
    if (error instanceof Rejection && last !== null) throw new LogMisbehaved(error, [last.note, note]);
    throw error;
  };
  if (last !== null && last.size > 0) {
    try {
      const path = size === last.size ? [] : await reader.consistencyPath(last.size);
      checkConsistency({ size: last.size, root: fromHex(last.root) }, { size, root }, path);
    } catch (error) {
      misbehaved(error);
    }
  }
  const kept = (last?.subtrees ?? []).map(({ height, hash }) => ({ height, hash: fromHex(hash) }));
  const [edge, from] = [new RightEdge(kept), last?.size ?? 0];
  try {
    await readEntries(checkpoint, read, { edge, from }, (entry, index) =>
      alerts.push(...alertsOf(entry, index, watch)),
    );
  } catch (error) {
    if (error instanceof Rejection && error.code === 'LOG_ROOT') misbehaved(error);
    throw error;
  }
  const subtrees = edge.nodes.map(({ height, hash }) => ({ height, hash: toHex(hash) }));
  return { state: { origin, size, root: toHex(root), subtrees, note }, entries: size - from, alerts };
}

function alertsOf(entry: LogEntry, index: number, { keys, issuers, names }: Watch): MonitorAlert[] {
  const kid = toHex(entry.kid);
  const isOwn = issuers.includes(kid);
  const by = `${entry.issuer} (key ${kid.slice(0, 16)}…)`;
  if (entry.class === 'sealed') {
    const found = Object.entries(keys).filter(([, key]) => {
      const tag = toHex(entryTag(fromHex(key), entry.nonce));
      return entry.tags.some((one) => toHex(one) === tag);
    });
    if (isOwn) return [];
    return found.map(([name]) => ({
      ...{ code: 'LOG_ENTRY_UNKNOWN' as const, index },
      what: `a ${entry.kind} of ${name} by ${by}, whom you do not list`,
    }));
  }
  const body = entry.body as Readonly<Record<string, unknown>>;
  if (entry.kind === 'revocation') return [{ code: 'LOG_REVOCATION', index, what: `${String(body['what'])} by ${by}` }];
  const own = { policy: 'LOG_POLICY_UNKNOWN', image: 'LOG_IMAGE_UNKNOWN', issuer: 'LOG_ISSUER_UNKNOWN' } as const;
  if (isOwn || !Object.hasOwn(own, entry.kind)) return [];
  const kind = entry.kind as keyof typeof own;
  const name = String(kind === 'policy' ? body['id'] : body['name']);
  const isListedKey = kind === 'issuer' && issuers.includes(toHex(body['key'] as Uint8Array));
  if (!names.includes(name) || isListedKey) return [];
  return [{ code: own[kind], index, what: `${kind} ${name} by ${by}` }];
}
