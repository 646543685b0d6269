/** Encrypted results on disk, piece by piece: one folder for each escrow. They are ciphertext, and no secret. */
import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CollateralError } from '#attestation/base';
import { chunkBytes, chunksMax } from '#attestation/records';
import { hexText } from './request.js';

const StoredDelivery = z.strictObject({
  /** `escrowIdOf` of the escrow. */
  job: hexText(32),
  /** abi.encode(Terms). */
  terms: z.string().max(8194),
  length: z.int().min(1),
  /** SHA-256 of each chunk in order. */
  hashes: z.array(hexText(32)).min(1).max(chunksMax),
  keyCommit: hexText(32),
  ciphertextDigest: hexText(32),
  /** Unix seconds until which it is kept at least. */
  until: z.int(),
  /** When the escrow was first seen at its end; null before. */
  endedAt: z.int().nullable(),
});
export type StoredDelivery = z.infer<typeof StoredDelivery>;

export interface ResultStore {
  all(): readonly StoredDelivery[];
  find(job: string): StoredDelivery | undefined;
  /** @throws CollateralError BROKER_RESULTS */
  put(delivery: StoredDelivery): void;
  remove(job: string): void;
  /** @throws CollateralError BROKER_RESULTS */
  putChunk(job: string, index: number, chunk: Uint8Array): void;
  /** Where the piece lies; undefined where it does not, whole. */
  chunkFile(delivery: StoredDelivery, index: number): string | undefined;
  /** Whether every piece is there and is what its hash says. */
  isWhole(delivery: StoredDelivery): boolean;
}

const manifestName = 'delivery.json';

/** @param bytesMax of all results together */
export function openResultStore(folder: string, bytesMax: number): ResultStore {
  const pathOf = (job: string, name: string): string => join(folder, job.slice(2), name);
  const chunkPath = (job: string, index: number): string => pathOf(job, `${index}.chunk`);
  const known = new Map(readDeliveries(folder).map((delivery) => [delivery.job, delivery]));
  const chunkFile: ResultStore['chunkFile'] = (delivery, index) => {
    const path = chunkPath(delivery.job, index);
    const size = existsSync(path) ? statSync(path).size : -1;
    return size === chunkLength(delivery, index) ? path : undefined;
  };
  return {
    all: () => [...known.values()],
    find: (job) => known.get(job),
    put(delivery) {
      const { job, length, ciphertextDigest } = delivery;
      const others = [...known.values()].filter((one) => one.job !== job);
      const total = others.reduce((sum, one) => sum + one.length, length);
      if (total > bytesMax) throw failed(`at most ${bytesMax} bytes of results`, `${total}`);
      guarded(() => {
        if (known.get(job)?.ciphertextDigest !== ciphertextDigest)
          rmSync(pathOf(job, ''), { recursive: true, force: true });
        mkdirSync(pathOf(job, ''), { recursive: true, mode: 0o700 });
        writeDurably(pathOf(job, manifestName), JSON.stringify(delivery));
      });
      known.set(job, delivery);
    },
    remove(job) {
      guarded(() => rmSync(pathOf(job, ''), { recursive: true, force: true }));
      known.delete(job);
    },
    putChunk: (job, index, chunk) => guarded(() => writeDurably(chunkPath(job, index), chunk)),
    chunkFile,
    isWhole: (delivery) =>
      delivery.hashes.every((hash, index) => {
        const path = chunkFile(delivery, index);
        return path !== undefined && sha256(readFileSync(path)) === hash;
      }),
  };
}

export function chunkLength({ length }: Pick<StoredDelivery, 'length'>, index: number): number {
  return Math.min(chunkBytes, length - index * chunkBytes);
}

export function sha256(bytes: Uint8Array): string {
  return `0x${createHash('sha256').update(bytes).digest('hex')}`;
}

/** What cannot be read was never signed for. */
function readDeliveries(folder: string): readonly StoredDelivery[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name, manifestName);
    const read = existsSync(path) ? StoredDelivery.safeParse(parseJson(readFileSync(path, 'utf8'))) : undefined;
    return read?.success === true && read.data.job === `0x${name}` ? [read.data] : [];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function writeDurably(path: string, content: string | Uint8Array): void {
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, content, { mode: 0o600, flush: true });
  renameSync(own, path);
  const folder = openSync(join(path, '..'), 'r');
  try {
    fdatasyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw failed('a folder of results that can be written', (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}

function failed(expected: string, got: string): CollateralError {
  return new CollateralError('BROKER_RESULTS', {
    expected,
    got,
    rule: 'key broker settings',
    action: 'the owner must make room for results; then ask again',
  });
}
