/** One line of JSON on stderr for whoever runs this host. */
import { CodedError } from '#attestation/base';

export function note(what: string, error: unknown): void {
  const detail = error instanceof CodedError ? error.toJSON() : { code: 'HOST_INTERNAL', got: String(error) };
  process.stderr.write(`${JSON.stringify({ what, ...detail })}\n`);
}
