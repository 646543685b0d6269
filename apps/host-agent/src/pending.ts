/**
 * Results on their way to being paid. Each is on disk before it is told to anybody, so that a crash of this host loses
 * neither the result nor the reveal key that earns the money. The ciphertext opens for the client alone.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bytes,
  bytesUpTo,
  decodeCanonical,
  encodeCanonical,
  list,
  oneOf,
  record,
  toCbor,
  uint,
  type Shaped,
} from '#attestation';

const pendingShape = {
  jobId: bytes(32),
  terms: bytesUpTo(4096),
  ciphertext: bytesUpTo(16 * 1024 * 1024 - 256 * 1024),
  revealKey: bytes(32),
  borders: list(bytes(32), 4001),
  run: record({
    upTo: uint(),
    outcome: oneOf(0, 1, 2),
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
  }),
  seal: bytesUpTo(1024),
};

export type PendingResult = Shaped<typeof pendingShape>;

export interface PendingResults {
  save(result: PendingResult): void;
  find(jobId: string): PendingResult | null;
  all(): PendingResult[];
  /** Its money is taken out, or its escrow has ended otherwise. */
  remove(result: PendingResult): void;
}

export function openPendingResults(folder: string): PendingResults {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (jobId: string): string => join(folder, `${jobId}.pending`);
  const read = (path: string): PendingResult =>
    record(pendingShape)(decodeCanonical(new Uint8Array(readFileSync(path))), 'pending result');
  const names = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.pending'));
  return {
    save(result) {
      const path = pathOf(Buffer.from(result.jobId).toString('hex'));
      writeFileSync(`${path}.partial`, encodeCanonical(toCbor(result)), { mode: 0o600 });
      renameSync(`${path}.partial`, path);
    },
    find: (jobId) => (names().includes(`${jobId}.pending`) ? read(pathOf(jobId)) : null),
    all: () => names().map((name) => read(join(folder, name))),
    remove: (result) => rmSync(pathOf(Buffer.from(result.jobId).toString('hex')), { force: true }),
  };
}
