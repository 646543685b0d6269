/**
 * Proofs that this host's stake is for, as other nodes made them: on disk, past a loss of power, until the escrow ends. A file
 * that was damaged is as good as none, so it is fetched again.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  bytesUpTo,
  decodeCanonical,
  encodeCanonical,
  proofBytesMax,
  proofDocumentCharactersMax,
  record,
  Rejection,
  text,
  toCbor,
} from '#attestation/base';
import { note, writeWhole, type ProofFiles } from '#libs/node';

export interface KeptProofs {
  /** Segments whose proofs are here, ascending. @param jobId hexadecimal, as everywhere here */
  held(jobId: string): readonly number[];
  /** On the disk when it returns. @throws Rejection CBOR_*, MESSAGE_SHAPE of one that could not be read again */
  keep(jobId: string, index: number, proof: ProofFiles): void;
  /** Null where it is not here, or was damaged. */
  find(jobId: string, index: number): ProofFiles | null;
  /** Segments whose proofs could not be had of late: this process alone remembers them, and its caller says which they are. */
  failed(jobId: string): Set<number>;
  /** Removes what is of no other job than these, and what a process that was killed has not written whole. */
  keepOnly(jobIds: ReadonlySet<string>): void;
  remove(jobId: string): void;
}

const shape = { bundle: bytesUpTo(proofBytesMax), document: text(proofDocumentCharactersMax) };
const read = (bytes: Uint8Array): ProofFiles => record(shape)(decodeCanonical(bytes), 'kept proof');
const fileName = /^([0-9a-f]{64})-(\d{1,4})\.proof(\.partial)?$/;

/** @param folder made before the first escrow is accepted, so that a flushed file in it stays */
export function openKeptProofs(folder: string): KeptProofs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = (jobId: string, index: number): string => join(folder, `${jobId}-${index}.proof`);
  const files = () =>
    readdirSync(folder).flatMap((name) => {
      const [, jobId, index, partial] = fileName.exec(name) ?? [];
      return jobId === undefined ? [] : [{ name, jobId, index: Number(index), isWhole: partial === undefined }];
    });
  type File = ReturnType<typeof files>[number];
  const keepWhere = (stays: (file: File) => boolean): void =>
    files().forEach((file) => (stays(file) ? undefined : rmSync(join(folder, file.name), { force: true })));
  const failed = new Map<string, Set<number>>();
  return {
    held: (jobId) =>
      files()
        .filter((file) => file.isWhole && file.jobId === jobId)
        .map(({ index }) => index)
        .sort((a, b) => a - b),
    keep(jobId, index, { bundle, document }) {
      const encoded = encodeCanonical(toCbor({ bundle, document }));
      read(encoded);
      writeWhole(path(jobId, index), encoded);
    },
    find(jobId, index) {
      const file = path(jobId, index);
      if (!existsSync(file)) return null;
      try {
        return read(new Uint8Array(readFileSync(file)));
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        note(`proof ${index} of ${jobId}`, error);
        rmSync(file, { force: true });
        return null;
      }
    },
    failed(jobId) {
      const indices = failed.get(jobId) ?? new Set();
      failed.set(jobId, indices);
      return indices;
    },
    keepOnly: (jobIds) => keepWhere(({ jobId, isWhole }) => isWhole && jobIds.has(jobId)),
    remove(jobId) {
      failed.delete(jobId);
      keepWhere((file) => file.jobId !== jobId);
    },
  };
}
