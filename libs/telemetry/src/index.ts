/** Logs, metrics and traces. */
export { createBrokerMetrics, type BrokerMetrics } from './broker-metrics.js';
export { serveHealth, type HealthServer } from './health-server.js';
export { createLogger, type Logger, type LogLevel } from './logger.js';
export { createMetrics, type Metrics } from './metrics.js';
export { watchNode, type NodeWatch } from './node-watch.js';
export { redact, redacted, redactText } from './redact.js';
export { marked, startTracing, traced, type Tracing } from './tracing.js';
