/**
 * What of a body is read before anybody is known: no more than its route can mean, and so many bytes of an address at
 * once.
 */
import type { IncomingMessage } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { CollateralError, Rejection } from '#attestation/base';
import { chunkBytes } from '#attestation/records';
import { groupOf } from './rate-limit.js';

type Kind = 'challenges' | 'decisions' | 'results';

/**
 * Largest JSON body of a kind. The largest decision has evidence of 1 MiB in base64; a result is offered by the
 * digests of its chunks.
 */
const jsonBytesMax: Readonly<Record<Kind, number>> = { challenges: 1024, decisions: 2_000_000, results: 128 * 1024 };
/** Commas and brackets in one: a result has a thousand chunks, everything else a few members. */
const marksMax = 4096;
/** Bytes that one address may have in bodies whose requests are not answered yet. */
const heldOfAddressMax = 16 * 2 ** 20;
const marks = new Set(Buffer.from(',[{'));

/** In any letter case, as routes are found. @returns null for what is no route with a body */
export function kindOf(asked: string): Kind | null {
  const path = asked.toLowerCase();
  if (!path.startsWith('/v1/')) return null;
  if (path === '/v1/challenges') return 'challenges';
  return path.startsWith('/v1/results') ? 'results' : 'decisions';
}

export function readBodies(app: NestExpressApplication): void {
  app.use(holdBodies());
  app.useBodyParser('raw', { limit: chunkBytes, type: isOf('results', /^application\/octet-stream/i) });
  for (const kind of ['challenges', 'decisions', 'results'] as const) {
    const options = { limit: jsonBytesMax[kind], type: isOf(kind, /^application\/json/i), verify: checkMarks };
    app.useBodyParser('json', options);
  }
}

function isOf(kind: Kind, type: RegExp) {
  return (request: IncomingMessage): boolean =>
    kindOf((request as Request).path) === kind && type.test(request.headers['content-type'] ?? '');
}

/** Before anything is built from it. */
function checkMarks(_request: IncomingMessage, _response: unknown, body: Buffer): void {
  let count = 0;
  for (const byte of body) if (marks.has(byte)) count += 1;
  if (count <= marksMax) return;
  const detail = { expected: `a document of at most ${marksMax} values`, got: `${count}`, rule: 'key broker API' };
  throw Object.assign(new Rejection('REQUEST_MALFORMED', detail), { status: 400 });
}

function holdBodies() {
  const held = new Map<string, number>();
  return (request: Request, response: Response, next: NextFunction): void => {
    const kind = kindOf(request.path);
    if (kind === null) return next();
    const most = Math.max(jsonBytesMax[kind], kind === 'results' ? chunkBytes : 0);
    const said = Number(
      request.headers['content-length'] ?? (request.headers['transfer-encoding'] === undefined ? 0 : most),
    );
    const bytes = Math.min(said, most);
    if (bytes === 0) return next();
    const address = groupOf(request.ip ?? '');
    const before = held.get(address) ?? 0;
    if (before + bytes > heldOfAddressMax) throw tooMuch();
    held.set(address, before + bytes);
    response.once('close', () => {
      const left = held.get(address)! - bytes;
      if (left === 0) held.delete(address);
      else held.set(address, left);
    });
    next();
  };
}

function tooMuch(): CollateralError {
  return new CollateralError('RATE_LIMITED', {
    expected: `at most ${heldOfAddressMax} bytes of requests of one address that are not answered yet`,
    got: 'more',
    rule: 'key broker API',
    action: 'wait for the answers',
  });
}
