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
  text,
  toCbor,
  uint,
  type Shaped,
} from '#attestation';

const pendingShape = {
  jobId: bytes(32),
  /** Under which it was, or is to be, told to the control plane. */
  lease: record({ leaseId: text(64), fence: uint() }),
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

const suffix = '.pending';

export type PendingResult = Shaped<typeof pendingShape>;

export interface PendingResults {
  save(result: PendingResult): void;
  /** @throws Rejection CBOR_*, MESSAGE_SHAPE when the file was damaged */
  find(jobId: string): PendingResult | null;
  /** Job ids, hexadecimal. */
  jobs(): string[];
  /** Its money is taken out, or its escrow has ended otherwise. */
  remove(result: PendingResult): void;
}

export function openPendingResults(folder: string): PendingResults {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (jobId: string): string => join(folder, `${jobId}${suffix}`);
  const read = (path: string): PendingResult =>
    record(pendingShape)(decodeCanonical(new Uint8Array(readFileSync(path))), 'pending result');
  const names = (): string[] => readdirSync(folder).filter((name) => name.endsWith(suffix));
  return {
    save(result) {
      const path = pathOf(Buffer.from(result.jobId).toString('hex'));
      writeFileSync(`${path}.partial`, encodeCanonical(toCbor(result)), { mode: 0o600 });
      renameSync(`${path}.partial`, path);
    },
    find: (jobId) => (names().includes(`${jobId}${suffix}`) ? read(pathOf(jobId)) : null),
    jobs: () => names().map((name) => name.slice(0, -suffix.length)),
    remove: (result) => rmSync(pathOf(Buffer.from(result.jobId).toString('hex')), { force: true }),
  };
}
