/**
 * Strict reading of one OCSP response (RFC 6960 §4.2, DER). Reading it says nothing about its authenticity: ocsp.ts
 * checks signature, delegation and time.
 */
import {
  derBitString,
  derCheckDeep,
  derChildren,
  derExpect,
  derInside,
  derInteger,
  derOid,
  derTag,
  derTime,
  readDer,
  type DerNode,
} from '../base/der.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { ocspBytesMax } from './constants.js';

const basicResponse = '1.3.6.1.5.5.7.48.1.1';
const nonceExtension = '1.3.6.1.5.5.7.48.1.2';
const responsesMax = 16;

/** Names one certificate by its issuer and serial number. */
export interface CertificateId {
  /** Dotted OID of the hash of the next two fields. */
  readonly hashAlgorithm: string;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  readonly serialNumber: bigint;
}

export interface SingleResponse {
  readonly id: CertificateId;
  readonly status: 'good' | 'revoked' | 'unknown';
  /** CRLReason (RFC 5280 §5.3.1) when revoked and stated; 6 is certificateHold. */
  readonly reason?: number;
  readonly revokedAt?: number;
  readonly thisUpdate: number;
  readonly nextUpdate?: number;
}

export interface OcspResponse {
  /** Exactly what the signature covers. */
  readonly signed: Uint8Array;
  /** Dotted OID. */
  readonly signatureAlgorithm: string;
  readonly signature: Uint8Array;
  readonly responder: { readonly name: Uint8Array } | { readonly keyHash: Uint8Array };
  readonly producedAt: number;
  readonly responses: readonly SingleResponse[];
  /** Value of the nonce extension, without its inner OCTET STRING header. */
  readonly nonce?: Uint8Array;
  /** Certificates that the responder added, DER. */
  readonly certificates: readonly Uint8Array[];
}

/**
 * @throws CollateralError NVIDIA_OCSP_NOT_ANSWERED when the responder answered with an error status
 * @throws Rejection NVIDIA_OCSP_SIZE, NVIDIA_OCSP_FORM, DER_MALFORMED
 */
export function parseOcspResponse(bytes: Uint8Array): OcspResponse {
  if (bytes.length > ocspBytesMax) throw bad('NVIDIA_OCSP_SIZE', `at most ${ocspBytesMax} bytes`, `${bytes.length}`);
  const root = readDer(bytes);
  derCheckDeep(root);
  const [status, ...outer] = derInside(root, derTag.sequence);
  const code = derInteger(status, derTag.enumerated);
  if (code !== 0n) {
    throw new CollateralError('NVIDIA_OCSP_NOT_ANSWERED', {
      expected: 'status successful (0)',
      got: `${code}`,
      rule: 'RFC 6960 §4.2.1',
      action: 'ask the responder again',
    });
  }
  const [type, wrapped] = sequence(explicit(outer, 0xa0), 2, 2);
  if (derOid(type) !== basicResponse) throw bad('NVIDIA_OCSP_FORM', 'id-pkix-ocsp-basic', derOid(type));
  const basic = readDer(derExpect(wrapped, derTag.octetString).content);
  derCheckDeep(basic);
  const [data, algorithm, signature, ...rest] = sequence(basic, 3, 4);
  const certificates = rest.length === 0 ? [] : derInside(explicit(rest, 0xa0), derTag.sequence);
  return {
    ...readData(derExpect(data, derTag.sequence)),
    signed: data!.raw,
    signatureAlgorithm: derOid(sequence(algorithm, 1, 1)[0]),
    signature: derBitString(signature),
    certificates: certificates.map((node) => node.raw),
  };
}

function readData(data: DerNode): Pick<OcspResponse, 'responder' | 'producedAt' | 'responses' | 'nonce'> {
  const nodes = derChildren(data);
  // DEFAULT v1 is never written in DER; no other version exists.
  const [id, producedAt, list, ...rest] = nodes;
  if (id === undefined || (id.tag !== 0xa1 && id.tag !== 0xa2)) throw form('a responder id', 'another element');
  const inner = readDer(id.content);
  const responder = id.tag === 0xa1 ? { name: inner.raw } : { keyHash: derExpect(inner, derTag.octetString).content };
  const responses = derInside(list, derTag.sequence).map(readSingle);
  if (responses.length === 0 || responses.length > responsesMax) {
    throw form(`1 to ${responsesMax} responses`, `${responses.length}`);
  }
  const nonce = rest.length === 0 ? undefined : readNonce(explicit(rest, 0xa1));
  return { responder, producedAt: generalized(producedAt), responses, ...(nonce && { nonce }) };
}

function readSingle(node: DerNode): SingleResponse {
  const [certId, status, thisUpdate, ...rest] = sequence(node, 3, 5);
  const [algorithm, nameHash, keyHash, serial] = sequence(certId, 4, 4);
  const next = rest[0]?.tag === 0xa0 ? generalized(explicit([rest.shift()!], 0xa0)) : undefined;
  if (rest.length > 0) noCritical(explicit(rest, 0xa1));
  return {
    id: {
      hashAlgorithm: derOid(sequence(algorithm, 1, 2)[0]),
      issuerNameHash: derExpect(nameHash, derTag.octetString).content,
      issuerKeyHash: derExpect(keyHash, derTag.octetString).content,
      serialNumber: derInteger(serial),
    },
    ...readStatus(status!),
    thisUpdate: generalized(thisUpdate),
    ...(next !== undefined && { nextUpdate: next }),
  };
}

function readStatus(node: DerNode): Pick<SingleResponse, 'status' | 'reason' | 'revokedAt'> {
  if ((node.tag === 0x80 || node.tag === 0x82) && node.content.length === 0) {
    return { status: node.tag === 0x80 ? 'good' : 'unknown' };
  }
  const [revokedAt, ...rest] = derInside(node, 0xa1);
  const reason = rest.length === 0 ? undefined : Number(derInteger(explicit(rest, 0xa0), derTag.enumerated));
  return { status: 'revoked', revokedAt: generalized(revokedAt), ...(reason !== undefined && { reason }) };
}

/** The nonce of the response extensions; any extension marked critical is not understood here and refused. */
function readNonce(extensions: DerNode): Uint8Array | undefined {
  noCritical(extensions);
  const found = derInside(extensions, derTag.sequence)
    .map((item) => derChildren(item))
    .filter(([oid]) => derOid(oid) === nonceExtension);
  if (found.length > 1) throw form('one nonce', `${found.length}`);
  const value = found[0]?.at(-1);
  return value && derExpect(readDer(derExpect(value, derTag.octetString).content), derTag.octetString).content;
}

function noCritical(extensions: DerNode): void {
  for (const item of derInside(extensions, derTag.sequence)) {
    const [oid, second] = sequence(item, 2, 3);
    if (second!.tag === derTag.boolean) throw form('no critical extension', derOid(oid));
  }
}

function sequence(node: DerNode | undefined, min: number, max: number): DerNode[] {
  const children = derInside(node, derTag.sequence);
  if (children.length < min || children.length > max) throw form(`${min} to ${max} elements`, `${children.length}`);
  return children;
}

/** The single element inside the single node, which must carry the context tag. */
function explicit(nodes: readonly DerNode[], tag: number): DerNode {
  const inner = nodes.length === 1 ? derInside(nodes[0], tag) : [];
  if (inner.length !== 1) throw form(`one element under tag 0x${tag.toString(16)}`, `${nodes.length}`);
  return inner[0]!;
}

function generalized(node: DerNode | undefined): number {
  return derTime(derExpect(node, derTag.generalizedTime));
}

function form(expected: string, got: string): Rejection {
  return bad('NVIDIA_OCSP_FORM', expected, got);
}

function bad(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'RFC 6960 §4.2.1' });
}
