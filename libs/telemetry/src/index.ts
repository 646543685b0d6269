/** Logs and metrics. */
export { createLogger, type Logger, type LogLevel } from './logger.js';
export { createMetrics, type Metrics } from './metrics.js';
export { redact, redacted, redactText } from './redact.js';
