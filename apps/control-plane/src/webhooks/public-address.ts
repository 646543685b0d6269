/**
 * Which addresses are public: of IPv4 everything but, of IPv6 the global unicast block 2000::/3 and in it everything but,
 * the ranges of IANA's registries of special-purpose addresses (RFC 6890 and later) and of multicast.
 */
import { BlockList, isIP } from 'node:net';

/** iana-ipv4-special-registry, and multicast (224.0.0.0/4) with what is reserved above it. */
const specialIpv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** iana-ipv6-special-registry, as far as it lies in 2000::/3. */
const specialIpv6 = [
  // Protocol assignments, with Teredo, benchmarking and ORCHID.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

const unicastIpv6 = new BlockList();
unicastIpv6.addSubnet('2000::', 3, 'ipv6');

const special = new BlockList();
for (const [net, prefix] of specialIpv4) special.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of specialIpv6) special.addSubnet(net, prefix, 'ipv6');

export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4');
    case 6:
      return unicastIpv6.check(address, 'ipv6') && !special.check(address, 'ipv6');
    default:
      return false;
  }
}

/** True when the URL itself, before any name is resolved, says that the host is not public. */
export function namesClosedHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return isIP(host) === 0 ? /(^|\.)localhost$/i.test(host) : !isPublicAddress(host);
}
