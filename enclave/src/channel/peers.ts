/** Addresses that may connect over TCP. A peer can prove nothing before there is evidence, so its address decides. */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { ConfigurationError } from '#attestation/base';

type Peers = (address: string | undefined) => boolean;

const peersMax = 64;

/**
 * @param host   that is listened on
 * @param listed addresses and subnets such as 10.0.2.2 or 10.42.0.0/16, separated by commas; needed beyond this machine
 * @throws ConfigurationError ENCLAVE_PEERS
 */
export function readPeers(host: string, listed: string | undefined): Peers {
  const isOwn = host === '127.0.0.1' || host === '::1' || host === 'localhost';
  if (listed === undefined && !isOwn) throw invalid('nothing');
  const allowed = new BlockList();
  const names = listed?.split(',') ?? ['127.0.0.0/8', '::1'];
  if (names.length > peersMax) throw invalid(`${names.length} of them`);
  for (const name of names) {
    const [address, bits, ...rest] = name.trim().split('/') as [string, string?, ...string[]];
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 'ipv4' ? 32 : 128));
    if (isIP(address) === 0 || !isPrefix || rest.length > 0) throw invalid(name);
    if (bits === undefined) allowed.addAddress(address, family);
    else allowed.addSubnet(address, Number(bits), family);
  }
  return (address = '') => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    return isIP(plain) !== 0 && allowed.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
  };
}

function invalid(got: string): ConfigurationError {
  return new ConfigurationError('ENCLAVE_PEERS', {
    expected: '--peer with the address or subnet of the host agent, where the enclave listens beyond this machine',
    got: got.slice(0, 100),
    rule: 'enclave/SPEC.md, start',
    action: 'name it as the guest sees it, for example --peer 10.0.2.2 or --peer 10.42.0.0/16',
  });
}
