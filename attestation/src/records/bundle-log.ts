/** What a bundle shows of the transparency log: attestation/LOG.md §4. */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { entryBytesMax, openingBytesMax, pathHashesMax, proofCharactersMax } from '../base/limits.js';
import { bytes, bytesUpTo, list, listOfSome, nullable, record, text, toCbor, type Field } from '../base/shape.js';

/** One job-bundle, a policy, issuers, and the releases to its sessions. */
const loggedEntriesMax = 80;

const opening = record({ salt: bytes(32), body: bytesUpTo(openingBytesMax) });

const logShape = {
  /** Finds the job's entries in the log; null where whoever made the bundle keeps it. */
  watchKey: nullable(bytes(32)),
  /** In the order of the log. `opening`: of sealed entries. `proof`: tlog-proof. */
  entries: listOfSome(
    record({ entry: bytesUpTo(entryBytesMax), opening: nullable(opening), proof: text(proofCharactersMax) }),
    loggedEntriesMax,
  ),
  /** Between each checkpoint of `entries` and the next one of another size, hashes from the leaf up. */
  consistency: list(list(bytes(32), pathHashesMax), loggedEntriesMax - 1),
};

export const bundledLog = record(logShape);

export type BundledLog = typeof bundledLog extends Field<infer T> ? T : never;
export type BundledEntry = BundledLog['entries'][number];

export function encodeBundledLog(log: BundledLog): Uint8Array {
  return encodeCanonical(toCbor(log));
}

/** @throws Rejection CBOR_*, MESSAGE_SHAPE */
export function parseBundledLog(encoded: Uint8Array): BundledLog {
  return bundledLog(decodeCanonical(encoded), 'log');
}
