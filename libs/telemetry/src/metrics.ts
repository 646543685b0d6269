/** Prometheus metrics of one process, in a registry of its own. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Seconds by method, route and status. */
  readonly http: Histogram<'method' | 'route' | 'status'>;
  /** Seconds by pattern and outcome (`ok` or a code). */
  readonly dispatch: Histogram<'pattern' | 'outcome'>;
  readonly transitions: Counter<'trigger' | 'to'>;
  readonly leasesExpired: Counter;
  readonly jobs: Gauge<'state'>;
  readonly outboxBacklog: Gauge;
  readonly chainBlock: Gauge;
  readonly chainErrors: Counter;
}

const seconds = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    http: new Histogram({
      name: 'veritrain_http_request_seconds',
      help: 'Time to answer a request',
      labelNames: ['method', 'route', 'status'],
      buckets: seconds,
      registers,
    }),
    dispatch: new Histogram({
      name: 'veritrain_dispatch_message_seconds',
      help: 'Time to answer a dispatch message',
      labelNames: ['pattern', 'outcome'],
      buckets: seconds,
      registers,
    }),
    transitions: new Counter({
      name: 'veritrain_job_transitions_total',
      help: 'State changes of jobs',
      labelNames: ['trigger', 'to'],
      registers,
    }),
    leasesExpired: new Counter({
      name: 'veritrain_leases_expired_total',
      help: 'Leases that ended without a heartbeat',
      registers,
    }),
    jobs: new Gauge({ name: 'veritrain_jobs', help: 'Jobs by state', labelNames: ['state'], registers }),
    outboxBacklog: new Gauge({ name: 'veritrain_outbox_backlog', help: 'Messages not yet published', registers }),
    chainBlock: new Gauge({ name: 'veritrain_chain_block', help: 'Last confirmed block that was read', registers }),
    chainErrors: new Counter({ name: 'veritrain_chain_errors_total', help: 'Failed reads of the chain', registers }),
  };
}
