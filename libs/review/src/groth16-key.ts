/** A Groth16 key that a reader lays beside a bundle: the only one under which its proofs then count. */
import { CodedError, fromUtf8 } from '#attestation/base';
import { parseGroth16Key, type Groth16Key } from '#libs/proof';
import { groth16KeyBytesMax } from './limits.js';

/** @param bytes key.json of `veritrain proof key` @returns undefined for any other file */
export function readGroth16Key(bytes: Uint8Array): Groth16Key | undefined {
  if (bytes[0] !== 0x7b || bytes.length > groth16KeyBytesMax) return undefined;
  try {
    return parseGroth16Key(JSON.parse(fromUtf8(bytes)) as unknown);
  } catch (error) {
    if (error instanceof CodedError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
