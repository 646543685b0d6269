/** Logs, metrics and traces. */
export { createLogger, type Logger, type LogLevel } from './logger.js';
export { createMetrics, type Metrics } from './metrics.js';
export { redact, redacted, redactText } from './redact.js';
export { marked, startTracing, traced, type Tracing } from './tracing.js';
