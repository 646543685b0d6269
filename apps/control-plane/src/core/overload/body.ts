/**
 * The one reader of JSON bodies. It runs after key and rates were looked at, takes what the route takes and no more, and
 * bounds what all requests together hold unparsed.
 */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { CodedError, CollateralError } from '#attestation/base';
import { refusal } from '../problem/codes.js';
import { bodyBytesHeldMax, jsonDepthMax, jsonValuesMax } from './limits.js';

const rule = 'apps/control-plane/README.md, limits';

export type BodyRequest = Request & { rawBody?: Buffer };

@Injectable()
export class Bodies {
  /** Bytes of bodies that are being read. */
  #held = 0;

  /**
   * Leaves a request without a JSON body as it is.
   * @throws Rejection BODY_OVERSIZE, JSON_MALFORMED, JSON_DEPTH, JSON_VALUES, MEDIA_TYPE; CollateralError OVERLOADED
   */
  async take(request: BodyRequest, bytesMax: number): Promise<void> {
    if (!request.is('application/json')) return;
    checkCharset(request);
    if (Number(request.header('content-length') ?? 0) > bytesMax) throw oversize(bytesMax);
    const raw = await this.read(request, bytesMax);
    if (raw.length === 0) return;
    checkShape(raw);
    request.rawBody = raw;
    request.body = parse(raw);
  }

  private async read(request: Request, bytesMax: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let source: Readable = request;
    try {
      source = plain(request);
      // Refused half-way, the connection stays: the answer goes out on it.
      for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        this.#held += chunk.length;
        if (bytes > bytesMax) throw oversize(bytesMax);
        if (this.#held > bodyBytesHeldMax) throw overloaded();
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } catch (error) {
      throw error instanceof CodedError ? error : malformed('a whole body', 'one that broke off, or is not so encoded');
    } finally {
      this.#held -= bytes;
      // What is not read any more is thrown away, so that the client reads the answer.
      request.unpipe();
      request.resume();
      if (source !== request) source.destroy();
    }
  }
}

function plain(request: Request): Readable {
  const encoding = (request.header('content-encoding') ?? 'identity').toLowerCase();
  if (encoding === 'identity') return request;
  const make = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress }[encoding];
  if (make === undefined) {
    throw refusal('MEDIA_TYPE', {
      expected: 'content-encoding gzip, deflate or br, or none',
      got: encoding.slice(0, 40),
      rule,
      action: 'Send the body in one of these.',
    });
  }
  const decoder = make();
  // Whoever reads it hears the same; a block that is being decoded when nobody reads any more would end the process.
  decoder.on('error', () => undefined);
  request.once('error', () => decoder.destroy(new Error('the connection broke')));
  request.once('aborted', () => decoder.destroy(new Error('the connection broke')));
  return request.pipe(decoder);
}

function checkCharset(request: Request): void {
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(request.header('content-type') ?? '')?.[1] ?? 'utf-8';
  if (/^utf-?8$/i.test(charset)) return;
  throw refusal('MEDIA_TYPE', {
    ...{ expected: 'JSON in UTF-8', got: `charset ${charset.slice(0, 40)}`, rule },
    action: 'Send application/json in UTF-8.',
  });
}

function parse(raw: Buffer): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch (error) {
    throw malformed('a JSON document in UTF-8', error instanceof Error ? error.message.slice(0, 200) : 'another');
  }
  if (typeof value === 'object' && value !== null) return value;
  throw malformed('a JSON object or list', value === null ? 'null' : `a ${typeof value}`);
}

/** Looks at brackets and commas before anything is built from them. */
function checkShape(json: Buffer): void {
  const [open, close, quote, escape, comma] = [0x5b, 0x5d, 0x22, 0x5c, 0x2c];
  let depth = 0;
  let values = 1;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]!;
    if (inText) {
      if (byte === escape) at += 1;
      else if (byte === quote) inText = false;
      continue;
    }
    if (byte === quote) inText = true;
    else if (byte === comma) values += 1;
    // `{` and `}` are `[` and `]` with the bit 0x20 set.
    else if ((byte & ~0x20) === open) {
      depth += 1;
      values += 1;
    } else if ((byte & ~0x20) === close) depth -= 1;
    if (depth > jsonDepthMax) throw tooMuch('JSON_DEPTH', `at most ${jsonDepthMax} levels of nesting`);
    if (values > jsonValuesMax) throw tooMuch('JSON_VALUES', `at most ${jsonValuesMax} values`);
  }
}

function tooMuch(code: 'JSON_DEPTH' | 'JSON_VALUES', expected: string) {
  return refusal(code, { expected, got: 'more', rule, action: 'Send less at once.' });
}

function malformed(expected: string, got: string) {
  return refusal('JSON_MALFORMED', { expected, got, rule, action: 'Mend the JSON of the body, and send it in UTF-8.' });
}

function oversize(bytesMax: number) {
  return refusal('BODY_OVERSIZE', {
    expected: `at most ${bytesMax} bytes for this route`,
    got: 'more',
    rule,
    action: 'Send less at once.',
  });
}

function overloaded() {
  return new CollateralError('OVERLOADED', {
    expected: `bodies of at most ${bodyBytesHeldMax} bytes at once`,
    got: 'more',
    rule: 'apps/control-plane/README.md, overload',
    action: 'Retry in a moment.',
  });
}
