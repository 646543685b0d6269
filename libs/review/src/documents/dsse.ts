/** DSSE envelopes (github.com/secure-systems-lab/dsse, protocol.md) around in-toto statements, by ECDSA P-256. */
import { p256 } from '@noble/curves/nist.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, ConfigurationError, toBase64, toHex, utf8 } from '#attestation/base';
import { armoured, derOf } from '../key-file.js';

const payloadType = 'application/vnd.in-toto+json';

/** A P-256 key: 32 bytes. */
export interface EcdsaKey {
  readonly secret: Uint8Array;
  /** SubjectPublicKeyInfo as PEM, whose SHA-256 is the hint that OMS verifiers compare. */
  readonly publicPem: string;
}

interface Envelope {
  readonly payload: string;
  readonly payloadType: typeof payloadType;
  readonly signatures: readonly { readonly sig: string; readonly keyid: '' }[];
}

/** PrivateKeyInfo of id-ecPublicKey, prime256v1, up to the inner ECPrivateKey's octets (RFC 5915, RFC 5958). */
const algorithm = Uint8Array.of(
  ...[0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
);
const spkiHead = Uint8Array.of(0x30, 0x59, ...algorithm, 3, 0x42, 0);
const privateHead = [2, 1, 1, 4, 0x20];

/** @param file PKCS #8 of a P-256 key, DER or PEM @throws ConfigurationError REPORT_KEY */
export function readEcdsaKey(file: Uint8Array): EcdsaKey {
  const der = derOf(file);
  const at = placeOf(der, algorithm);
  const inner = placeOf(der, Uint8Array.from(privateHead));
  const secret = der.slice(inner + privateHead.length, inner + privateHead.length + 32);
  if (at < 5 || at > 6 || inner < at || !p256.utils.isValidSecretKey(secret)) {
    throw new ConfigurationError('REPORT_KEY', {
      expected: 'a PKCS #8 file of an ECDSA P-256 key, DER or PEM, without password',
      got: `${file.length} bytes of another`,
      rule: 'OpenSSF Model Signing 1.0, algorithm registry; RFC 5958',
      action: 'make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out model-key.pem',
    });
  }
  const spki = concatBytes(spkiHead, p256.getPublicKey(secret, false));
  return { secret, publicPem: armoured('PUBLIC KEY', spki) };
}

function placeOf(bytes: Uint8Array, part: Uint8Array): number {
  for (let at = 0; at + part.length <= bytes.length; at++) {
    if (part.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}

export const keyHint = ({ publicPem }: EcdsaKey): string => toHex(sha256(utf8(publicPem)));

export function sealStatement(statement: Uint8Array, { secret }: EcdsaKey): Envelope {
  const signed = concatBytes(utf8(`DSSEv1 ${payloadType.length} ${payloadType} ${statement.length} `), statement);
  const sig = p256.sign(signed, secret, { format: 'der', lowS: false });
  return { payload: toBase64(statement), payloadType, signatures: [{ sig: toBase64(sig), keyid: '' }] };
}
