/** What the operator of a node sees of it: lines for the life of a job, metrics, and whether it is at work. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { createLogger, type Logger, type LogLevel } from './logger.js';

/** Steps in a node's life and in a job's. */
type NodeEvent =
  | 'registered'
  | 'enclave-ready'
  | 'enclave-lost'
  | 'lease-taken'
  | 'keyed'
  | 'engaged'
  | 'checkpoint'
  | 'renewed'
  | 'trained'
  | 'delivered'
  | 'lease-ended'
  | 'segment-claimed'
  | 'segment-proved'
  | 'escrow-step'
  | 'stake-kept'
  | 'stopping';

/** Where something failed that is tried again, or that ended a lease. */
type NodeFailure = 'lease' | 'heartbeat' | 'broker' | 'renewal' | 'delivery' | 'escrow' | 'proof' | 'work';

type Fields = Readonly<Record<string, unknown>>;

export interface NodeWatch {
  readonly registry: Registry;
  event(event: NodeEvent, fields?: Fields): void;
  /** Counted alone: whoever fails says it in a line of its own. */
  failure(what: NodeFailure): void;
  /** What it depends on is there, or is not. */
  depends(on: 'controlPlane' | 'enclave', isThere: boolean): void;
  leases(inHand: number): void;
  escrows(open: number): void;
  readiness(): { readonly isReady: boolean; readonly parts: Readonly<Record<string, 'ok' | 'away'>> };
}

/** @param depends  on what its readiness depends; all away at first */
export function watchNode(
  depends: readonly ('controlPlane' | 'enclave')[],
  service: string,
  level: LogLevel,
  log: Logger = createLogger(service, level),
): NodeWatch {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const events = new Counter({
    name: 'veritrain_node_events_total',
    help: 'Steps in the life of the node and its jobs',
    labelNames: ['event'],
    registers,
  });
  const failures = new Counter({
    name: 'veritrain_node_failures_total',
    help: 'What failed: tried again, or the end of a lease',
    labelNames: ['what'],
    registers,
  });
  const leases = new Gauge({ name: 'veritrain_node_leases', help: 'Leases in hand', registers });
  const escrows = new Gauge({ name: 'veritrain_node_escrows', help: 'Escrows that have not ended', registers });
  const reached = new Gauge({
    name: 'veritrain_node_dependency_up',
    help: '1 where what the node depends on is there',
    labelNames: ['on'],
    registers,
  });
  const there = new Map<string, boolean>(depends.map((on) => [on, false]));
  for (const on of depends) reached.set({ on }, 0);
  return {
    registry,
    event(event, fields = {}) {
      events.inc({ event });
      log.info(event, fields);
    },
    failure: (what) => failures.inc({ what }),
    depends(on, isThere) {
      if (!there.has(on) || there.get(on) === isThere) return;
      there.set(on, isThere);
      reached.set({ on }, isThere ? 1 : 0);
      if (isThere) log.info(`${on} is there`);
      else log.warn(`${on} is away`);
    },
    leases: (inHand) => leases.set(inHand),
    escrows: (open) => escrows.set(open),
    readiness() {
      const parts = Object.fromEntries([...there].map(([on, isThere]) => [on, isThere ? 'ok' : 'away'] as const));
      return { isReady: [...there.values()].every(Boolean), parts };
    },
  };
}
