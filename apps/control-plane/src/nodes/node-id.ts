import { createHash } from 'node:crypto';

/**
 * The id of an operator's node follows from its name, so that a node which registers again with a database that was
 * restored from before its first registration is the one that its host's records speak of. A UUID of version 8
 * (RFC 9562, section 5.8).
 */
export function nodeIdOf(tenant: string, name: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify(['veritrain/node/v1', tenant, name]))
    .digest()
    .subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
