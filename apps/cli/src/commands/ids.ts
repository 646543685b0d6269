/** Ids and keys that commands take: what can be none is refused before anything is asked. */
import { InvalidArgumentError } from 'commander';
import { fromHex } from '#attestation/base';

/** @throws InvalidArgumentError */
export function jobId(text: string): string {
  if (/^0x[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('No job id: 0x and 64 hexadecimal digits, as veritrain job list shows.');
}

/** @throws InvalidArgumentError */
export function nodeId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text;
  throw new InvalidArgumentError('No node id: a UUID, as veritrain node list shows.');
}

/** @throws InvalidArgumentError */
export function address(value: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(value)) throw new InvalidArgumentError('an address: 0x and 40 hexadecimal digits');
  return value;
}

/** @throws InvalidArgumentError */
export function publicKey(text: string): Uint8Array {
  if (!/^(0x)?[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('32 bytes, hexadecimal');
  return fromHex(text.toLowerCase());
}
