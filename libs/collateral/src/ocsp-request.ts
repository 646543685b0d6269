/** OCSPRequest for one certificate (RFC 6960 §4.1.1), unsigned, with SHA-1 CertID and an optional nonce (RFC 8954). */
import { createHash } from 'node:crypto';

export interface OcspSubject {
  /** Serial number, hexadecimal of the INTEGER content. */
  readonly serial: string;
}

export interface OcspIssuer {
  /** DER Name. */
  readonly subject: Uint8Array;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
}

const sha1Algorithm = Buffer.from('300906052b0e03021a0500', 'hex');
const nonceOid = Buffer.from('06092b0601050507300102', 'hex');

/** @throws RangeError when the nonce is not 1 to 32 bytes */
export function ocspRequest(subject: OcspSubject, issuer: OcspIssuer, nonce?: Uint8Array): Uint8Array {
  const certId = der(
    0x30,
    sha1Algorithm,
    der(0x04, sha1(issuer.subject)),
    der(0x04, sha1(keyBits(issuer.spki))),
    der(0x02, Buffer.from(subject.serial, 'hex')),
  );
  const requestList = der(0x30, der(0x30, certId));
  return new Uint8Array(der(0x30, der(0x30, requestList, ...(nonce ? [extensions(nonce)] : []))));
}

function extensions(nonce: Uint8Array): Buffer {
  if (nonce.length < 1 || nonce.length > 32)
    throw new RangeError(`an OCSP nonce has 1 to 32 bytes, not ${nonce.length}`);
  return der(0xa2, der(0x30, der(0x30, nonceOid, der(0x04, der(0x04, nonce)))));
}

/** The key inside SubjectPublicKeyInfo { algorithm, BIT STRING }, without the count of unused bits. */
function keyBits(spki: Uint8Array): Uint8Array {
  const algorithm = contentStart(spki, 0);
  const bits = algorithm + lengthAt(spki, algorithm).total;
  return spki.subarray(contentStart(spki, bits) + 1);
}

function contentStart(bytes: Uint8Array, offset: number): number {
  return offset + lengthAt(bytes, offset).head;
}

function lengthAt(bytes: Uint8Array, offset: number): { head: number; total: number } {
  const first = bytes[offset + 1]!;
  if (first < 0x80) return { head: 2, total: 2 + first };
  const size = first & 0x7f;
  const length = bytes.subarray(offset + 2, offset + 2 + size).reduce((value, byte) => value * 256 + byte, 0);
  return { head: 2 + size, total: 2 + size + length };
}

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const short = content.length < 128;
  const size = content.length < 256 ? 1 : 2;
  const length = Buffer.alloc(short ? 1 : 1 + size);
  if (short) length[0] = content.length;
  else {
    length[0] = 0x80 + size;
    length.writeUIntBE(content.length, 1, size);
  }
  return Buffer.concat([Buffer.of(tag), length, content]);
}

function sha1(bytes: Uint8Array): Buffer {
  return createHash('sha1').update(bytes).digest();
}
