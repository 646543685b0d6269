/** Prometheus metrics of a key broker or attestor, in a registry of its own. */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';

export interface BrokerMetrics {
  readonly registry: Registry;
  /** Seconds by kind of decision and outcome (`ok` or a code). */
  readonly decisions: Histogram<'kind' | 'outcome'>;
  /** Requests by method, route and status. */
  readonly requests: Counter<'method' | 'route' | 'status'>;
}

export function createBrokerMetrics(): BrokerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    decisions: new Histogram({
      name: 'veritrain_broker_decision_seconds',
      help: 'Time to decide on a release, renewal, appraisal or availability',
      labelNames: ['kind', 'outcome'],
      buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 3],
      registers,
    }),
    requests: new Counter({
      name: 'veritrain_broker_requests_total',
      help: 'Requests that were answered',
      labelNames: ['method', 'route', 'status'],
      registers,
    }),
  };
}
