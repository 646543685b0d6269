/** Nest's own messages in our log: its start-up chatter as debug, its warnings and errors as such. */
import type { LoggerService } from '@nestjs/common';
import type { Logger } from '#libs/telemetry';

export function nestLogger(logger: Logger): LoggerService {
  const text = (message: unknown): string => (message instanceof Error ? message.message : String(message));
  return {
    log: (message: unknown) => logger.debug(text(message)),
    debug: (message: unknown) => logger.debug(text(message)),
    verbose: (message: unknown) => logger.debug(text(message)),
    warn: (message: unknown) => logger.warn(text(message)),
    error: (message: unknown, ...rest: unknown[]) => logger.error(text(message), { rest }),
    fatal: (message: unknown) => logger.error(text(message)),
  };
}
