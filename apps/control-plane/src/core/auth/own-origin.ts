/** Whether a request that a cookie speaks for comes from the console's own pages: any site can make a browser send one. */
import type { IncomingHttpHeaders } from 'node:http';
import { refusal } from '../problem/codes.js';

export interface OwnRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

const rule = 'apps/control-plane/README.md, console';
const loopback = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/;

/**
 * A change needs a header that no form sends and the origin of these pages; nothing is read for another site.
 * @throws Rejection CSRF_ORIGIN
 */
export function checkOwnOrigin({ method, headers }: OwnRequest): void {
  const isRead = method === 'GET' || method === 'HEAD';
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none')) throw foreign(`site ${site}`);
  if (isRead) return;
  if (headers['x-veritrain-console'] !== '1') throw foreign('no header x-veritrain-console');
  const origin = originOf(headers);
  if (origin?.host !== headers.host) throw foreign(`origin ${headers.origin ?? 'none'}`);
}

/** Over plain http a cookie is anybody's on the way, and browsers keep it from going. @throws Rejection CONSOLE_INSECURE */
export function checkSecure({ headers }: OwnRequest): void {
  const origin = originOf(headers);
  if (origin?.protocol === 'https:' || loopback.test(origin?.hostname ?? '')) return;
  throw refusal('CONSOLE_INSECURE', {
    expected: 'https, or this machine',
    got: (headers.origin ?? 'none').slice(0, 80),
    rule,
    action: 'Open the console under https, or through a tunnel to 127.0.0.1.',
  });
}

function originOf({ origin = '' }: IncomingHttpHeaders): URL | null {
  return URL.canParse(origin) ? new URL(origin) : null;
}

function foreign(got: string) {
  return refusal('CSRF_ORIGIN', {
    expected: 'a request of the console’s own pages',
    got: got.slice(0, 120),
    rule,
    action: 'Use the console itself, or send an API key instead of the cookie.',
  });
}
