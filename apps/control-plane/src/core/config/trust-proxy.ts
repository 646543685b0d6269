/** Which reverse proxies are believed when they say for whom they ask, and whose address a request then has. */
import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { invalid } from './config-error.js';

/** @param hop  0 for the peer itself, 1 for whom it speaks of, … */
export type TrustProxy = (address: string, hop: number) => boolean;

const hopsMax = 16;
const addressesMax = 64;

/**
 * @param setting  a number of proxies one behind the other, or their addresses and networks with commas
 * @throws ConfigurationError CONFIG_TRUST_PROXY
 */
export function readTrustProxy(setting: string | undefined): TrustProxy | null {
  if (setting === undefined || setting === '0') return null;
  if (/^[0-9]+$/.test(setting)) {
    const hops = Number(setting);
    if (hops > hopsMax) throw unreadable(setting);
    return (_address, hop) => hop < hops;
  }
  const networks = setting.split(',').map((part) => part.trim());
  if (networks.length > addressesMax) throw unreadable(`${networks.length} of them`);
  const trusted = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([0-9A-Fa-f:.]+)(?:\/([0-9]{1,3}))?$/.exec(network) ?? [];
    const family = isIP(address);
    const bits = family === 6 ? 128 : 32;
    if (family === 0 || Number(prefix ?? bits) > bits) throw unreadable(network);
    trusted.addSubnet(address, Number(prefix ?? bits), family === 6 ? 'ipv6' : 'ipv4');
  }
  return (address) => isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** The nearest address that no trusted proxy has: what stands before it anybody can have written. */
export function clientAddress(request: IncomingMessage, trust: TrustProxy | null): string {
  let address = plain(request.socket.remoteAddress ?? '');
  if (trust === null) return address;
  const said = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
  for (const [hop, next] of said.entries()) {
    const named = plain(next.trim());
    if (!trust(address, hop) || isIP(named) === 0) return address;
    address = named;
  }
  return address;
}

/** IPv4 in IPv6 is IPv4: a socket that takes both says so of every client. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, '');
}

function unreadable(got: string) {
  const expected = `VERITRAIN_TRUST_PROXY as a number up to ${hopsMax}, or addresses and networks (10.0.0.0/8) with commas`;
  return invalid('CONFIG_TRUST_PROXY', expected, got.slice(0, 80));
}
