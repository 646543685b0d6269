/**
 * Ciphertexts that the enclave tells in pieces, on disk: a checkpoint or a result may be larger than this host's memory. One
 * that is told whole stays in memory, as it always did.
 */
import { createHash, randomUUID, type Hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Rejection, to0x } from '#attestation/base';
import { chunkBytes, chunksMax, ciphertextDigest, deliveryHasher, type DeliveryHasher } from '#attestation/records';
import type { BlobSource, CipherStore } from '#libs/node';

/** One in a file, by what it is named and bound with. */
export interface CipherFile {
  /** Of the file, in the folder of ciphertexts. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: Uint8Array;
  /** What a seal binds of a result (contracts/SPEC.md §12). */
  readonly digest: Uint8Array;
}

/** As an event told it. */
export type Ciphertext = Uint8Array | CipherFile;

/** What one enclave tells. */
interface IncomingCiphertexts {
  /** The next piece of what is told next; 0 begins anew. @throws Rejection PIECES_ORDER */
  add(index: number, piece: Uint8Array): void;
  /** @param last of the pieces, or the whole where none came before it */
  end(last: Uint8Array): Ciphertext;
  /** Gives up what was told in part. */
  close(): void;
}

export interface Ciphertexts {
  incoming(): IncomingCiphertexts;
  /** One that broker and chain take, in memory. @throws Rejection DELIVERY_SIZE */
  whole(ciphertext: Ciphertext): Uint8Array;
  /** Uploads it. @returns its name, 0x-hex SHA-256 */
  put(ciphertext: Ciphertext, store: CipherStore): Promise<string>;
  drop(ciphertext: Ciphertext): void;
  /** Removes what nothing names any more. @param names of files that stay */
  keepOnly(names: ReadonlySet<string>): void;
}

interface Writing {
  readonly name: string;
  readonly descriptor: number;
  readonly hash: Hash;
  readonly hasher: DeliveryHasher;
  pieces: number;
}

const sha256 = (): Hash => createHash('sha256');

export function openCiphertexts(folder: string): Ciphertexts {
  const pathOf = ({ name }: Pick<CipherFile, 'name'>): string => join(folder, name);
  const source = (file: CipherFile): BlobSource => ({
    sha256: to0x(file.sha256),
    bytes: file.bytes,
    read: (from, to) => readRange(pathOf(file), from, to),
  });
  return {
    incoming: () => incomingInto(folder),
    whole(ciphertext) {
      if (ciphertext instanceof Uint8Array) return ciphertext;
      if (isPublishable(ciphertext)) return readRange(pathOf(ciphertext), 0, ciphertext.bytes);
      throw new Rejection('DELIVERY_SIZE', {
        expected: `an encrypted result of at most ${chunkBytes * chunksMax} bytes`,
        got: `${ciphertext.bytes} bytes`,
        rule: 'contracts/SPEC.md §12',
      });
    },
    async put(ciphertext, store) {
      if (ciphertext instanceof Uint8Array) return store.putBlob(ciphertext);
      const blob = source(ciphertext);
      await store.putParts(blob);
      return blob.sha256;
    },
    drop(ciphertext) {
      if (!(ciphertext instanceof Uint8Array)) rmSync(pathOf(ciphertext), { force: true });
    },
    keepOnly(names) {
      const kept = existsSync(folder) ? readdirSync(folder) : [];
      for (const name of kept) if (!names.has(name)) rmSync(pathOf({ name }), { force: true });
    },
  };
}

function incomingInto(folder: string): IncomingCiphertexts {
  let writing: Writing | null = null;

  function begin(): Writing {
    close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const name = `${randomUUID()}.cipher`;
    const descriptor = openSync(join(folder, name), 'wx', 0o600);
    return { name, descriptor, hash: sha256(), hasher: deliveryHasher(sha256), pieces: 0 };
  }

  function close(): void {
    if (writing === null) return;
    closeSync(writing.descriptor);
    rmSync(join(folder, writing.name), { force: true });
    writing = null;
  }

  return {
    close,
    add(index, piece) {
      if (index === 0) writing = begin();
      if (writing === null || writing.pieces !== index) {
        throw new Rejection('PIECES_ORDER', {
          expected: `piece ${writing?.pieces ?? 0}`,
          got: `piece ${index}`,
          rule: 'enclave/SPEC.md, checkpoints',
        });
      }
      write(writing, piece);
    },
    end(last) {
      if (writing === null) return last;
      const { name, descriptor, hash, hasher } = writing;
      write(writing, last);
      fsyncSync(descriptor);
      closeSync(descriptor);
      writing = null;
      const { bytes, digest } = hasher.end();
      return { name, bytes, digest, sha256: Uint8Array.from(hash.digest()) };
    },
  };
}

/** Written at once: what comes next waits in the socket, not in memory. */
function write(to: Writing, piece: Uint8Array): void {
  for (let at = 0; at < piece.length;) at += writeSync(to.descriptor, piece, at);
  to.hash.update(piece);
  to.hasher.update(piece);
  to.pieces += 1;
}

export function bytesOf(ciphertext: Ciphertext): number {
  return ciphertext instanceof Uint8Array ? ciphertext.length : ciphertext.bytes;
}

export function digestOf(ciphertext: Ciphertext): Uint8Array {
  return ciphertext instanceof Uint8Array ? ciphertextDigest(ciphertext) : ciphertext.digest;
}

/** Whether broker and chain take it: neither has room for more than 171 pieces (contracts/SPEC.md §12). */
export function isPublishable(ciphertext: Ciphertext): boolean {
  return bytesOf(ciphertext) <= chunkBytes * chunksMax;
}

function readRange(path: string, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  const descriptor = openSync(path, 'r');
  try {
    for (let at = 0; at < bytes.length;) {
      const read = readSync(descriptor, bytes, at, bytes.length - at, from + at);
      if (read === 0) throw new Error(`${path} ends before byte ${to}`);
      at += read;
    }
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
