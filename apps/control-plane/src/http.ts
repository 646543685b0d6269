/** What happens to every HTTP request before a handler: an id, limits on its body, a line in the log, a measurement. */
import { randomUUID } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { datasetManifestBytesMax } from '#attestation';
import type { Logger, Metrics } from '#libs/telemetry';
import type { Parts } from './app.module.js';
import { refusal } from './problem/codes.js';
import { guardConnections } from './overload/connections.js';
import { limitSockets } from './sockets.js';

const jsonDepthMax = 32;

export function configureHttp(
  app: NestExpressApplication,
  { logger, metrics, connections }: Pick<Parts, 'logger' | 'metrics' | 'connections'>,
): void {
  app.disable('x-powered-by');
  app.use(observe(logger, metrics));
  app.useBodyParser('json', { limit: datasetManifestBytesMax, strict: true });
  app.use(limitDepth);
  guardConnections(app.getHttpServer(), logger, metrics, connections);
  limitSockets(app.getHttpServer(), metrics);
}

type Observed = Request & { id?: string };

function observe(logger: Logger, metrics: Metrics) {
  return (request: Observed, response: Response, next: NextFunction): void => {
    request.id = randomUUID();
    response.setHeader('x-request-id', request.id);
    response.setHeader('x-content-type-options', 'nosniff');
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

/** Refuses a body that nests deeper than any message does, before anything walks through it. */
function limitDepth(request: Request & { rawBody?: Buffer }, _response: Response, next: NextFunction): void {
  if (request.rawBody !== undefined && depthOf(request.rawBody) > jsonDepthMax) {
    throw refusal('JSON_DEPTH', {
      expected: `at most ${jsonDepthMax} levels of nesting`,
      got: 'more',
      rule: 'control-plane README, limits',
    });
  }
  next();
}

function depthOf(json: Buffer): number {
  const [open, close, quote, escape] = [0x5b, 0x5d, 0x22, 0x5c];
  let deepest = 0;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]!;
    if (inText) {
      if (byte === escape) at += 1;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    // `{` and `}` are `[` and `]` with the bit 0x20 set.
    else if ((byte & ~0x20) === open) deepest = Math.max(deepest, ++depth);
    else if ((byte & ~0x20) === close) depth -= 1;
  }
  return deepest;
}
