/** What happens to every HTTP request before a handler: an id, headers, a line in the log, a measurement; bodies are left alone. */
import { randomUUID } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import type { Logger, Metrics } from '#libs/telemetry';
import type { Addressed } from '../../core/auth/address.js';
import { clientAddress, type TrustProxy } from '../../core/config/trust-proxy.js';
import { guardConnections, type ConnectionLimits } from '../../core/overload/connections.js';
import { limitSockets } from '../../core/overload/sockets.js';
import { GraphqlGate } from '../graphql/graphql-gate.js';

interface HttpParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly connections: ConnectionLimits;
  readonly config: { readonly trustProxy: TrustProxy | null; readonly corsOrigins: readonly string[] };
}

export function configureHttp(app: NestExpressApplication, { logger, metrics, connections, config }: HttpParts): void {
  app.disable('x-powered-by');
  app.use(observe(logger, metrics, config.trustProxy));
  // Mounted, so that a path is shielded exactly when it is routed there: in any letter case.
  app.use('/docs', shieldPages);
  if (config.corsOrigins.length > 0) app.enableCors(corsOf(config.corsOrigins));
  app.use('/graphql', app.get(GraphqlGate).handler);
  guardConnections(app.getHttpServer(), logger, metrics, connections);
  limitSockets(app.getHttpServer(), metrics, config.trustProxy);
}

/** With a key that the page has of its own: no browser sends a cookie along. */
function corsOf(origins: readonly string[]) {
  return {
    ...{ origin: [...origins], credentials: false, maxAge: 600 },
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'upload-offset'],
    exposedHeaders: ['location', 'retry-after', 'x-request-id'],
  };
}

type Observed = Request & Addressed & { id?: string };

function observe(logger: Logger, metrics: Metrics, trust: TrustProxy | null) {
  return (request: Observed, response: Response, next: NextFunction): void => {
    request.id = randomUUID();
    request.clientAddress = clientAddress(request, trust);
    response.setHeader('x-request-id', request.id);
    response.setHeader('x-content-type-options', 'nosniff');
    if (request.method !== 'GET' && request.method !== 'HEAD') leaveUnkept(response);
    const started = performance.now();
    response.once('close', () => {
      const route = (request.route as { path?: string } | undefined)?.path ?? 'none';
      const seconds = (performance.now() - started) / 1000;
      metrics.http.observe({ method: request.method, route, status: String(response.statusCode) }, seconds);
      const { method, path, id } = request;
      logger.debug('request', { method, path, status: response.statusCode, seconds, id });
    });
    next();
  };
}

/** An answer to a change is no representation that anybody may keep or ask for again by its ETag; some show a secret. */
function leaveUnkept(response: Response): void {
  response.setHeader('cache-control', 'no-store');
  const writeHead = response.writeHead.bind(response) as (...given: unknown[]) => Response;
  response.writeHead = ((...given: unknown[]) => {
    response.removeHeader('etag');
    return writeHead(...given);
  }) as typeof response.writeHead;
}

/** The pages of `/docs` load nothing from elsewhere, and stand in nobody's frame. */
const contentPolicy = [
  `default-src 'none'`,
  `script-src 'self' 'unsafe-inline'`,
  `style-src 'self' 'unsafe-inline'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `frame-ancestors 'none'`,
  `base-uri 'none'`,
  `form-action 'none'`,
].join('; ');

function shieldPages(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('content-security-policy', contentPolicy);
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'no-referrer');
  next();
}
