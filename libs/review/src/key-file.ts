/** Key files as people have them: DER, or PEM around it. */
import { fromBase64, toBase64 } from '#attestation/base';
import { keyFileBytesMax } from './limits.js';

/** @returns the DER of a private key; nothing where the file is neither */
export function derOf(file: Uint8Array): Uint8Array {
  return file[0] === 0x30 ? file : unarmoured(file);
}

function unarmoured(file: Uint8Array): Uint8Array {
  if (file.length > keyFileBytesMax) return new Uint8Array();
  const text = new TextDecoder('latin1').decode(file);
  const [, body] = /-----BEGIN [P]RIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(text) ?? [];
  try {
    return body === undefined ? new Uint8Array() : fromBase64(body.replaceAll(/\s/g, ''));
  } catch {
    return new Uint8Array();
  }
}

/** RFC 7468, lines of 64 characters, a line feed at the end. */
export function armoured(label: string, der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
