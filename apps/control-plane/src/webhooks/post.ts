/** Posts to an address that a tenant named: to public addresses alone, followed nowhere, read hardly at all. */
import { lookup as resolve, type LookupAddress } from 'node:dns';
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const answerWithinMs = 10_000;

/** Loopback, private, link-local, shared, documentation, multicast and reserved ranges (RFC 6890). */
const closed = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  closed.addSubnet(net, prefix, 'ipv4');
  // The same behind the prefixes that translate to IPv4: mapped, 6to4 is closed whole below.
  closed.addSubnet(`::ffff:${net}`, 96 + prefix, 'ipv6');
}
for (const [net, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  closed.addSubnet(net, prefix, 'ipv6');
}

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !closed.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

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

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Only for operators who trust every tenant with their own network. */
  readonly mayBePrivate: boolean;
}

/** @returns the status; rejects with an error that has a `code` when there is none within ten seconds */
export function post({ url, headers, body, mayBePrivate }: Post): Promise<number> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!mayBePrivate && isIP(host) !== 0 && !isPublicAddress(host)) return Promise.reject(closedTarget());
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
    request.once('error', fail);
    request.end(body);
  });
}
