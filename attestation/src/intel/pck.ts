/**
 * The SGX extension of a PCK certificate, 1.2.840.113741.1.13.1: which platform the key belongs to, at which TCB.
 * Source: Intel SGX PCK Certificate and CRL Profile Specification §1.3.5.
 */
import { derExpect, derInside, derInteger, derOid, derTag, readDer, type DerNode } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import type { PlatformTcb } from './tcb.js';

export const pckExtensionOid = '1.2.840.113741.1.13.1';

export interface PckIdentity {
  /** Provisioning platform id, 16 bytes. */
  readonly ppid: Uint8Array;
  /** Family, model, stepping, platform type and custom SKU, 6 bytes: selects the TCB info. */
  readonly fmspc: Uint8Array;
  readonly pceId: Uint8Array;
  readonly cpuSvn: Uint8Array;
  readonly tcb: PlatformTcb;
}

/**
 * @param extension  DER inside the extension's OCTET STRING
 * @throws Rejection QUOTE_PCK_EXTENSION, DER_MALFORMED
 */
export function parsePckExtension(extension: Uint8Array): PckIdentity {
  const top = members(readDer(extension));
  const tcb = members(member(top, '2'));
  const svn = (arc: number, max: number): number => {
    const value = derInteger(member(tcb, `2.${arc}`));
    return value >= 0n && value <= BigInt(max) ? Number(value) : fail(`2.${arc} of 0..${max}`, `${value}`);
  };
  return {
    ppid: octets(top, '1', 16),
    fmspc: octets(top, '4', 6),
    pceId: octets(top, '3', 2),
    cpuSvn: octets(tcb, '2.18', 16),
    tcb: { components: Array.from({ length: 16 }, (_, i) => svn(i + 1, 255)), pceSvn: svn(17, 0xffff) },
  };
}

/** SEQUENCE OF SEQUENCE { OID, value }, by the arcs behind the extension's own OID. */
function members(node: DerNode): Map<string, DerNode> {
  const found = new Map<string, DerNode>();
  for (const entry of derInside(node, derTag.sequence)) {
    const [oid, value, ...rest] = derInside(entry, derTag.sequence);
    const name = derOid(oid).replace(`${pckExtensionOid}.`, '');
    if (value === undefined || rest.length > 0) fail(`one value for ${name}`, value === undefined ? 'none' : 'more');
    if (found.has(name)) fail(`one ${name}`, 'two');
    found.set(name, value!);
  }
  return found;
}

function member(from: Map<string, DerNode>, name: string): DerNode {
  return from.get(name) ?? fail(`member ${name}`, 'none');
}

function octets(from: Map<string, DerNode>, name: string, size: number): Uint8Array {
  const { content } = derExpect(member(from, name), derTag.octetString);
  return content.length === size ? content : fail(`${size} bytes ${name}`, `${content.length}`);
}

function fail(expected: string, got: string): never {
  throw new Rejection('QUOTE_PCK_EXTENSION', { expected, got, rule: 'Intel SGX PCK Certificate Profile §1.3.5' });
}
