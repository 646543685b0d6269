/** What happens to every request before a handler: headers, the limits of its address, a measurement, its body. */
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import type { BrokerMetrics } from '#libs/telemetry';
import type { SpeakerConfig } from './config.js';
import { kindOf, readBodies } from './bodies.js';
import { createRateLimit, type RateLimit } from './rate-limit.js';

/** Challenges cost one HMAC; decisions verify certificates; results move bytes; everything else has a rate of its own. */
const rates = {
  challenges: { burst: 20_000, perSecond: 2000 },
  decisions: { burst: 240, perSecond: 20 },
  results: { burst: 700, perSecond: 50 },
  others: { burst: 240, perSecond: 20 },
} as const;
/** An operator's probes come from where strangers may come from too, so these are kept cheap and are always answered. */
const probes: ReadonlySet<string> = new Set(['/health/live', '/health/ready']);

export function configureHttp(
  app: NestExpressApplication,
  { proxies }: Pick<SpeakerConfig, 'proxies'>,
  metrics: BrokerMetrics,
): void {
  app.disable('x-powered-by');
  app.set('trust proxy', proxies.length === 0 ? false : [...proxies]);
  app.use(observe(metrics));
  app.use(limit());
  readBodies(app);
}

function observe(metrics: BrokerMetrics) {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('cache-control', 'no-store');
    response.once('close', () => {
      const route = (request.route as { path?: string } | undefined)?.path ?? 'none';
      metrics.requests.inc({ method: request.method, route, status: String(response.statusCode) });
    });
    next();
  };
}

/** Ahead of the parsers: what is too much is not even read. */
function limit() {
  const limits = Object.fromEntries(
    Object.entries(rates).map(([kind, rate]) => [kind, createRateLimit(kind, rate)]),
  ) as Record<keyof typeof rates, RateLimit>;
  return (request: Request, _response: Response, next: NextFunction): void => {
    const { path, ip = '' } = request;
    if (!probes.has(path)) limits[kindOf(path) ?? 'others'].take(ip, performance.now());
    next();
  };
}
