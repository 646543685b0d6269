/** What a reader brings of a newer log: everything that was revoked in it (attestation/LOG.md §4). */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { entryBytesMax, pathHashesMax } from '../base/limits.js';
import { bytes, bytesUpTo, list, oneOf, record, text, toCbor, uint, type Field } from '../base/shape.js';
import { noteCharactersMax } from './limits.js';

const revocationsMost = 4096;

const exportShape = record({
  v: oneOf(1),
  /** Signed checkpoint of the log that was read. */
  note: text(noteCharactersMax),
  /** Every revocation in it, in the order of the log; `path`: from the leaf up, under that checkpoint. */
  revocations: list(
    record({ entry: bytesUpTo(entryBytesMax), index: uint(), path: list(bytes(32), pathHashesMax) }),
    revocationsMost,
  ),
});

/**
 * Revocations of one log up to one checkpoint. That none is left out is the word of whoever made it: readers make their
 * own (`veritrain log export`, which reads every entry).
 */
export type LogExport = typeof exportShape extends Field<infer T> ? T : never;

/** @throws Rejection MESSAGE_SHAPE */
export function encodeLogExport(made: LogExport): Uint8Array {
  const encoded = encodeCanonical(toCbor(made));
  parseLogExport(encoded);
  return encoded;
}

/** @throws Rejection CBOR_*, MESSAGE_SHAPE */
export function parseLogExport(encoded: Uint8Array): LogExport {
  return exportShape(decodeCanonical(encoded), 'log export');
}
