/** Logs, metrics and traces. */
export { createBrokerMetrics, type BrokerMetrics } from './broker-metrics.js';
export { serveHealth } from './health-server.js';
export { createLogger, type Logger } from './logger.js';
export { createMetrics, type Metrics } from './metrics.js';
export { watchNode, type NodeWatch } from './node-watch.js';
export { redact, redactText } from './redact.js';
export { marked, startTracing, traced } from './tracing.js';
