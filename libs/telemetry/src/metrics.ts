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
  /** Requests and connections that were turned away or cut, by reason. */
  readonly refused: Counter<'reason'>;
  /** 0: everything is taken; each step up sheds one more kind of request. */
  readonly shedLevel: Gauge;
  /** Streams of events that are followed now. */
  readonly streams: Gauge;
  readonly deadLetters: Counter<'reason'>;
  /** Renewals of attestations by the tier that they were found to have. */
  readonly renewals: Counter<'outcome'>;
  /** Leases that ended because their attestation was not renewed in time. */
  readonly attestationsLapsed: Counter;
  /** Least seconds that the attestation of a job at work still counts; NaN while none is at work. */
  readonly freshness: Gauge;
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
    renewals: new Counter({
      name: 'veritrain_attestation_renewals_total',
      help: 'Renewals of attestations during jobs by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    attestationsLapsed: new Counter({
      name: 'veritrain_attestations_lapsed_total',
      help: 'Leases that ended because their attestation was not renewed in time',
      registers,
    }),
    freshness: new Gauge({
      name: 'veritrain_attestation_freshness_seconds',
      help: 'Least time that the attestation of a job at work still counts',
      registers,
    }),
    refused: new Counter({
      name: 'veritrain_refused_total',
      help: 'Requests and connections that were turned away or cut',
      labelNames: ['reason'],
      registers,
    }),
    shedLevel: new Gauge({ name: 'veritrain_shed_level', help: 'Kinds of requests that are shed now', registers }),
    streams: new Gauge({ name: 'veritrain_streams', help: 'Streams of events that are followed now', registers }),
    deadLetters: new Counter({
      name: 'veritrain_dead_letters_total',
      help: 'Messages that could not be taken and were put aside',
      labelNames: ['reason'],
      registers,
    }),
    jobs: new Gauge({ name: 'veritrain_jobs', help: 'Jobs by state', labelNames: ['state'], registers }),
    outboxBacklog: new Gauge({ name: 'veritrain_outbox_backlog', help: 'Messages not yet published', registers }),
    chainBlock: new Gauge({ name: 'veritrain_chain_block', help: 'Last confirmed block that was read', registers }),
    chainErrors: new Counter({ name: 'veritrain_chain_errors_total', help: 'Failed reads of the chain', registers }),
  };
}
