/** Posts to an address that a tenant named: to public addresses alone, followed nowhere, read hardly at all. */
import { lookup as resolve, type LookupAddress } from 'node:dns';
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isPublicAddress, namesClosedHost } from './public-address.js';

const answerWithinMs = 10_000;

/** Resolves a name and refuses it when any of its addresses is closed: looked at once, at the moment of connecting. */
const publicOnly: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const bad = error ?? (addresses.every(({ address }) => isPublicAddress(address)) ? null : closedTarget());
    if (bad !== null) return callback(bad, '', 0);
    if (options.all === true) return callback(null, addresses);
    callback(null, addresses[0]!.address, addresses[0]!.family);
  });
};

function closedTarget(): NodeJS.ErrnoException {
  return Object.assign(new Error('not a public address'), { code: 'WEBHOOK_TARGET' });
}

interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Only for operators who trust every tenant with their own network. */
  readonly mayBePrivate: boolean;
}

/** @returns the status; rejects with an error that has a `code` when there is none within ten seconds */
export function post({ url, headers, body, mayBePrivate }: Post): Promise<number> {
  const target = new URL(url);
  if (!mayBePrivate && namesClosedHost(target)) return Promise.reject(closedTarget());
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
    signal: AbortSignal.timeout(answerWithinMs),
    agent: false,
    ...(mayBePrivate ? {} : { lookup: publicOnly }),
  };
  return new Promise((done, fail) => {
    const send = target.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(target, options, (response) => {
      done(response.statusCode ?? 0);
      response.destroy();
    });
    request.on('error', fail);
    request.once('upgrade', (response, socket) => {
      done(response.statusCode ?? 101);
      socket.destroy();
    });
    request.once('close', () => fail(Object.assign(new Error('no answer'), { code: 'ECONNRESET' })));
    request.end(body);
  });
}
