/** Secrets in files of their own: 32 bytes as 0x-hexadecimal, mode 600; read without 0x, too. */
import { ConfigurationError, fromHex, toHex } from '#attestation/base';
import { readBytes, writeWhole } from './files.js';

/** @throws ConfigurationError FILE_UNREADABLE, SECRET_FILE; never with the content */
export function readSecret(path: string): Uint8Array {
  const text = new TextDecoder().decode(readBytes(path, 1024)).trim();
  if (/^(0x)?[0-9a-f]{64}$/.test(text)) return fromHex(text);
  throw new ConfigurationError('SECRET_FILE', {
    expected: `${path}: 32 bytes as 0x-hexadecimal`,
    got: `${text.length} characters`,
    rule: 'secret files',
  });
}

export function writeSecret(path: string, secret: Uint8Array): void {
  writeWhole(path, `0x${toHex(secret)}\n`, 0o600);
}
