/** PEM texts with certificates (RFC 7468 §3, strict). */
import { fromBase64, toBase64 } from './bytes.js';
import { Rejection } from './errors.js';
import { pemBytesMax, poolCertificatesMax } from './limits.js';

const block = /-----BEGIN CERTIFICATE-----\r?\n((?:[A-Za-z0-9+/=]{1,76}\r?\n)+)-----END CERTIFICATE-----/g;

/**
 * The blocks of a text in order, decoded and not looked at. Nothing but line ends, spaces and closing NULs may stand around
 * them: what no signature covers must have no freedom.
 * @throws Rejection X509_SIZE, X509_PEM, BYTES_BASE64
 */
export function readPem(pem: string): Uint8Array[] {
  if (pem.length > pemBytesMax) refuse('X509_SIZE', `at most ${pemBytesMax} characters`, `${pem.length}`);
  const blocks = [...pem.matchAll(block)].map((found) => found[1]!.replace(/\r?\n/g, ''));
  const around = pem.replaceAll(block, '').replace(/(?<!\0)\0+$/, '');
  if (!/^[\r\n ]*$/.test(around) || blocks.some((one) => one.length % 4 !== 0)) {
    refuse('X509_PEM', 'strict PEM blocks and nothing else', around.trim().slice(0, 40));
  }
  if (blocks.length === 0 || blocks.length > poolCertificatesMax) {
    refuse('X509_PEM', `1 to ${poolCertificatesMax} certificates`, `${blocks.length}`);
  }
  return blocks.map(fromBase64);
}

/** The one spelling of a certificate's block: lines of 64 characters, each with its end. */
export function writePem(der: Uint8Array): string {
  const lines = toBase64(der).replace(/.{1,64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 7468 §3; attestation/SPEC.md, certificates' });
}
