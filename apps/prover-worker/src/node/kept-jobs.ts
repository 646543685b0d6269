/**
 * Jobs in which this node's proofs or its stake are, from before the escrow is accepted until it has ended. Each proof is
 * on disk before it is told to anybody, so that a crash loses neither stake nor proof. Files are written whole or not at all.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex, toHex } from '#attestation';
import type { Proved } from '../compute/prove.js';

export interface KeptJob {
  readonly jobId: string;
  /** Deterministic CBOR. */
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  /** All borders of a run that this node is to commit; null: somebody else does. */
  readonly borders: readonly Uint8Array[] | null;
  /** Indices of the segments whose proofs are here. */
  readonly proofs: readonly number[];
}

export interface KeptJobs {
  list(): readonly KeptJob[];
  open(jobId: string, spec: Uint8Array, terms: Uint8Array): void;
  keepBorders(jobId: string, borders: readonly Uint8Array[]): void;
  keepProof(jobId: string, index: number, proved: Proved): void;
  proof(jobId: string, index: number): Proved;
  remove(jobId: string): void;
}

const jobName = /^[0-9a-f]{64}$/;
const proofName = /^proof-(\d{1,4})\.bundle$/;

export function openKeptJobs(folder: string): KeptJobs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = (jobId: string, name: string): string => join(folder, jobId.replace(/^0x/, ''), name);
  const write = (jobId: string, name: string, data: Uint8Array | string): void => {
    const file = path(jobId, name);
    writeFileSync(`${file}.partial`, data, { mode: 0o600 });
    renameSync(`${file}.partial`, file);
  };
  const read = (jobId: string, name: string): Uint8Array => new Uint8Array(readFileSync(path(jobId, name)));
  const kept = (jobId: string): KeptJob => {
    const hasBorders = existsSync(path(jobId, 'borders'));
    const proofs = readdirSync(path(jobId, '')).flatMap((name) => proofName.exec(name)?.[1] ?? []);
    return {
      jobId,
      spec: read(jobId, 'spec'),
      terms: read(jobId, 'terms'),
      borders: hasBorders ? Buffer.from(read(jobId, 'borders')).toString('utf8').split('\n').map(fromHex) : null,
      proofs: proofs.map(Number).sort((a, b) => a - b),
    };
  };
  return {
    list: () =>
      readdirSync(folder)
        .filter((name) => jobName.test(name) && existsSync(path(name, 'terms')))
        .map((name) => kept(`0x${name}`)),
    open(jobId, spec, terms) {
      mkdirSync(path(jobId, ''), { recursive: true, mode: 0o700 });
      write(jobId, 'spec', spec);
      write(jobId, 'terms', terms);
    },
    keepBorders: (jobId, borders) => write(jobId, 'borders', borders.map((border) => `0x${toHex(border)}`).join('\n')),
    keepProof(jobId, index, { bundle, document }) {
      write(jobId, `proof-${index}.json`, document);
      write(jobId, `proof-${index}.bundle`, bundle);
    },
    proof: (jobId, index) => ({
      bundle: read(jobId, `proof-${index}.bundle`),
      document: Buffer.from(read(jobId, `proof-${index}.json`)).toString('utf8'),
    }),
    remove: (jobId) => rmSync(path(jobId, ''), { recursive: true, force: true }),
  };
}
