/**
 * Jobs in which this node's proofs or its stake are, from before the escrow is accepted until it has ended. Each proof is
 * on disk before it is told to anybody, and so is a run, so that a crash loses neither stake nor work. Files are written whole
 * or not at all.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, fromHex, Rejection, to0x } from '#attestation/base';
import { decodeTerms } from '#attestation/records';
import { writeWhole } from '#libs/node';
import type { LeaseDeliver, LoggedEntries, ProofRef } from '#libs/wire';
import type { Proved } from '../compute/system.js';

/** A run and the lease that it was made under, as the control plane is told. */
export type KeptDelivery = Omit<LeaseDeliver, 'auth'>;

export interface KeptProof extends Proved {
  /** Under which it was made. */
  readonly claim: ProofRef;
  /** Of the key that it was made with. */
  readonly logged?: LoggedEntries | undefined;
}

export interface KeptJob {
  readonly jobId: string;
  /** Deterministic CBOR. */
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  /** A run that the control plane has yet to take; null: none. */
  readonly delivery: KeptDelivery | null;
  /** All borders of a run that this node is to commit, for the control plane has taken it; null: there is none. */
  readonly borders: readonly Uint8Array[] | null;
  /** Of that run: 0 done, 1 the segment behind its last border has no witness. */
  readonly outcome: 0 | 1;
  /** Indices of the segments whose proofs are here. */
  readonly proofs: readonly number[];
  /** Those of them that the control plane has taken. */
  readonly told: readonly number[];
}

export interface KeptJobs {
  ids(): string[];
  /** null: it is not here. */
  find(jobId: string): KeptJob | null;
  open(jobId: string, spec: Uint8Array, terms: Uint8Array): void;
  keepDelivery(jobId: string, delivery: KeptDelivery): void;
  /** The control plane has taken the run: its borders are to be committed. Refused: forget it. */
  closeDelivery(jobId: string, outcome: 'taken' | 'refused'): void;
  /** A run that cannot go on: there is no result that the control plane would have to take. */
  keepStopped(jobId: string, borders: readonly Uint8Array[]): void;
  keepProof(proof: KeptProof): void;
  markTold(jobId: string, index: number): void;
  /** null: it is not here. */
  proof(jobId: string, index: number): KeptProof | null;
  remove(jobId: string): void;
  /** Lays aside jobs under terms of the former layout; their files stay. @returns a Rejection TERMS_VERSION for each */
  layAside(): readonly Rejection[];
}

const jobName = /^[0-9a-f]{64}$/;
const proofName = /^proof-(\d{1,4})\.bundle$/;
const toldName = /^proof-(\d{1,4})\.told$/;

export function openKeptJobs(folder: string): KeptJobs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = (jobId: string, name: string): string => join(folder, jobId.replace(/^0x/, ''), name);
  const write = (jobId: string, name: string, data: Uint8Array | string): void => writeWhole(path(jobId, name), data);
  const read = (jobId: string, name: string): Uint8Array => new Uint8Array(readFileSync(path(jobId, name)));
  const readJson = (jobId: string, name: string): unknown => jsonOf(path(jobId, name), read(jobId, name));
  /** A job whose escrow has ended is not. */
  const isKept = (jobId: string): boolean => existsSync(path(jobId, 'terms'));
  const kept = (jobId: string): KeptJob => {
    const has = (name: string): boolean => existsSync(path(jobId, name));
    const text = (name: string): string => Buffer.from(read(jobId, name)).toString('utf8');
    const names = readdirSync(path(jobId, ''));
    const numbers = (form: RegExp): number[] =>
      names
        .flatMap((name) => form.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b);
    return {
      jobId,
      spec: read(jobId, 'spec'),
      terms: read(jobId, 'terms'),
      delivery: has('delivery') ? (readJson(jobId, 'delivery') as KeptDelivery) : null,
      borders: has('borders') ? text('borders').split('\n').map(fromHex) : null,
      outcome: has('stopped') ? 1 : 0,
      proofs: numbers(proofName),
      told: numbers(toldName),
    };
  };
  const names = (): string[] => readdirSync(folder).filter((name) => jobName.test(name) && isKept(name));
  return {
    ids: () => names().map((name) => `0x${name}`),
    find: (jobId) => (isKept(jobId) ? kept(jobId) : null),
    open(jobId, spec, terms) {
      mkdirSync(path(jobId, ''), { recursive: true, mode: 0o700 });
      write(jobId, 'spec', spec);
      write(jobId, 'terms', terms);
    },
    keepDelivery: (jobId, delivery) => write(jobId, 'delivery', JSON.stringify(delivery)),
    closeDelivery(jobId, outcome) {
      if (!isKept(jobId)) return;
      const { delivery } = kept(jobId);
      if (delivery !== null && outcome === 'taken') write(jobId, 'borders', delivery.borders.join('\n'));
      rmSync(path(jobId, 'delivery'), { force: true });
    },
    keepStopped(jobId, borders) {
      write(jobId, 'stopped', '');
      write(jobId, 'borders', borders.map((border) => to0x(border)).join('\n'));
    },
    keepProof({ claim, bundle, document, logged }) {
      const { jobId, index } = claim;
      write(jobId, `proof-${index}.claim`, JSON.stringify(claim));
      if (logged !== undefined) write(jobId, `proof-${index}.logged`, JSON.stringify(logged));
      write(jobId, `proof-${index}.json`, document);
      write(jobId, `proof-${index}.bundle`, bundle);
    },
    markTold: (jobId, index) => (isKept(jobId) ? write(jobId, `proof-${index}.told`, '') : undefined),
    proof(jobId, index) {
      if (!existsSync(path(jobId, `proof-${index}.bundle`))) return null;
      const text = (name: string): string => Buffer.from(read(jobId, name)).toString('utf8');
      const claim = readJson(jobId, `proof-${index}.claim`) as ProofRef;
      const isLogged = existsSync(path(jobId, `proof-${index}.logged`));
      const logged = isLogged ? (readJson(jobId, `proof-${index}.logged`) as LoggedEntries) : undefined;
      return { claim, bundle: read(jobId, `proof-${index}.bundle`), document: text(`proof-${index}.json`), logged };
    },
    remove: (jobId) => rmSync(path(jobId, ''), { recursive: true, force: true }),
    layAside: () => names().flatMap((name) => layAside(path(name, ''))),
  };
}

/** @throws ConfigurationError KEPT_JOB_DAMAGED */
function jsonOf(path: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw new ConfigurationError('KEPT_JOB_DAMAGED', {
      expected: `${path} as this node wrote it, JSON`,
      got: `${bytes.length} bytes that are none`,
      rule: 'apps/prover-worker/README.md',
      action: 'restore the file; without it this job is not gone on with, others are',
    });
  }
}

/** A job under terms that this version cannot act on; what is damaged is refused where it is read. */
function layAside(folder: string): readonly Rejection[] {
  try {
    decodeTerms(new Uint8Array(readFileSync(join(folder, 'terms'))));
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    if (error.code !== 'TERMS_VERSION') return [];
    renameSync(folder, `${folder}.former`);
    return [error];
  }
  return [];
}
