/** Structured logs, one JSON object per line. Everything written passes `redact`. */
import { pino, type DestinationStream, type Level, type Logger as Pino } from 'pino';
import { redact, redactText } from './redact.js';

export type LogLevel = Level | 'silent';

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** @param destination standard error when absent: standard output belongs to results */
export function createLogger(service: string, level: LogLevel, destination?: DestinationStream): Logger {
  const sink: Pino = pino(
    { level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
  const write =
    (at: Level) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      if (sink.isLevelEnabled(at)) sink[at](redact(fields) as object, redactText(message));
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
