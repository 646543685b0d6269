/**
 * Making a Groth16 key as a process. One JSON request on stdin (proving/key-request.ts). One JSON document on stdout:
 * {"plan", "folder", "ceremony", "verificationKey", "constraints"} and exit status 0, or {"error": {"code", "family",
 * "expected", "got", "rule"}} and exit status 1.
 */
import { text } from 'node:stream/consumers';
import { CodedError } from '#attestation/base';
import { makeKey, parseKeyRequest } from './proving/key-request.js';

try {
  const made = await makeKey(parseKeyRequest(await text(process.stdin)));
  process.stdout.write(`${JSON.stringify(made)}\n`);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  process.stdout.write(`${JSON.stringify({ error: error.toJSON() })}\n`);
  process.exitCode = 1;
}
