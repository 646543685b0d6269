/**
 * Jobs in which this node's proofs or its stake are, from before the escrow is accepted until it has ended. Each proof is
 * on disk before it is told to anybody, and so is a run, so that a crash loses neither stake nor work. Files are written whole
 * or not at all.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CollateralError, ConfigurationError, equalBytes, fromHex, Rejection, to0x } from '#attestation/base';
import { decodeTerms } from '#attestation/records';
import { syncFolder, writeWhole } from '#libs/node';
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
  /** This node has accepted the escrow, or was about to: silence would cost the stake. */
  readonly isStaked: boolean;
  /** The chain was told, or was about to be, that this node does without it: no run of it is told to anybody. */
  readonly isGivenBack: boolean;
  /** A run that the control plane has yet to take; null: none. */
  readonly delivery: KeptDelivery | null;
  /** A run that the control plane would not take: what is trained may be committed all the same; null: none. */
  readonly refused: KeptDelivery | null;
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
  /**
   * Before anything is done or sent for a job.
   * @throws CollateralError PROVER_JOB_KEPT where this node's stake is on it under other terms
   */
  checkTerms(jobId: string, terms: Uint8Array): void;
  /** @throws CollateralError PROVER_JOB_KEPT */
  open(jobId: string, spec: Uint8Array, terms: Uint8Array): void;
  /** Before the escrow is accepted. */
  markStaked(jobId: string): void;
  /** Before the chain is told. */
  markGivenBack(jobId: string): void;
  keepDelivery(jobId: string, delivery: KeptDelivery): void;
  /** The control plane has taken the run: its borders are to be committed. Refused: it is not told again. */
  closeDelivery(jobId: string, outcome: 'taken' | 'refused'): void;
  /** A run that cannot go on: there is no result that the control plane would have to take. */
  keepStopped(jobId: string, borders: readonly Uint8Array[]): void;
  keepProof(proof: KeptProof): void;
  markTold(jobId: string, index: number): void;
  /** What was told of it is forgotten, too. */
  dropProof(jobId: string, index: number): void;
  /** null: it is not here. */
  proof(jobId: string, index: number): KeptProof | null;
  remove(jobId: string): void;
  /** Removes what a process that was killed left of a job that is not kept, and of a file that it had not written whole. */
  tidy(): void;
  /** Lays aside jobs under terms of the former layout; their files stay. @returns a Rejection TERMS_VERSION for each */
  layAside(): readonly Rejection[];
}

/** Whether this node has, or had until it was taken or refused, what it may commit. */
export function hasRun({ borders, delivery, refused }: KeptJob): boolean {
  return (borders ?? delivery ?? refused) !== null;
}

const jobName = /^[0-9a-f]{64}$/;
const proofName = /^proof-(\d{1,4})\.bundle$/;
/** Of a file that `writeWhole` has not come to the end of. */
const partialName = /\.partial$/;
const toldName = /^proof-(\d{1,4})\.told$/;

/** Of one job among all that are kept. */
export const keptFolder = (folder: string, jobId: string): string => join(folder, jobId.replace(/^0x/, ''));

/** Of a job that is opened, and not removed yet. */
const isKeptIn = (folder: string): boolean => existsSync(join(folder, 'terms'));

const namesIn = (folder: string): string[] => readdirSync(folder).filter((name) => jobName.test(name));

/** Of all jobs that are kept. */
export const keptFolders = (folder: string): string[] =>
  namesIn(folder)
    .map((name) => join(folder, name))
    .filter(isKeptIn);

export function openKeptJobs(folder: string): KeptJobs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = (jobId: string, name: string): string => join(keptFolder(folder, jobId), name);
  const write = (jobId: string, name: string, data: Uint8Array | string): void => writeWhole(path(jobId, name), data);
  const read = (jobId: string, name: string): Uint8Array => new Uint8Array(readFileSync(path(jobId, name)));
  const readJson = (jobId: string, name: string): unknown => jsonOf(path(jobId, name), read(jobId, name));
  const isKept = (jobId: string): boolean => isKeptIn(path(jobId, ''));
  const kept = (jobId: string): KeptJob => readKept(path(jobId, ''), jobId);
  const names = (): string[] => namesIn(folder).filter(isKept);
  const checkTerms = (jobId: string, terms: Uint8Array): void => {
    const job = isKept(jobId) ? kept(jobId) : null;
    if (job?.isStaked === true && !equalBytes(job.terms, terms)) throw underOtherTerms(jobId);
  };
  return {
    ids: () => names().map((name) => `0x${name}`),
    find: (jobId) => (isKept(jobId) ? kept(jobId) : null),
    checkTerms,
    open(jobId, spec, terms) {
      checkTerms(jobId, terms);
      mkdirSync(path(jobId, ''), { recursive: true, mode: 0o700 });
      syncFolder(folder);
      write(jobId, 'spec', spec);
      write(jobId, 'terms', terms);
    },
    markStaked: (jobId) => write(jobId, 'staked', ''),
    markGivenBack: (jobId) => write(jobId, 'given-back', ''),
    keepDelivery: (jobId, delivery) => write(jobId, 'delivery', JSON.stringify(delivery)),
    closeDelivery(jobId, outcome) {
      if (!isKept(jobId)) return;
      const { delivery } = kept(jobId);
      if (delivery !== null && outcome === 'taken') write(jobId, 'borders', delivery.borders.join('\n'));
      if (delivery !== null && outcome === 'refused') renameSync(path(jobId, 'delivery'), path(jobId, 'refused'));
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
    dropProof(jobId, index) {
      for (const part of ['bundle', 'told']) rmSync(path(jobId, `proof-${index}.${part}`), { force: true });
    },
    proof(jobId, index) {
      if (!existsSync(path(jobId, `proof-${index}.bundle`))) return null;
      const text = (name: string): string => Buffer.from(read(jobId, name)).toString('utf8');
      const claim = readJson(jobId, `proof-${index}.claim`) as ProofRef;
      const isLogged = existsSync(path(jobId, `proof-${index}.logged`));
      const logged = isLogged ? (readJson(jobId, `proof-${index}.logged`) as LoggedEntries) : undefined;
      return { claim, bundle: read(jobId, `proof-${index}.bundle`), document: text(`proof-${index}.json`), logged };
    },
    remove: (jobId) => rmSync(path(jobId, ''), { recursive: true, force: true }),
    tidy: () => tidyIn(folder),
    layAside: () => names().flatMap((name) => layAside(path(name, ''))),
  };
}

/** @param own folder of the job */
function readKept(own: string, jobId: string): KeptJob {
  const has = (name: string): boolean => existsSync(join(own, name));
  const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(own, name)));
  const run = (name: string) => (has(name) ? (jsonOf(join(own, name), read(name)) as KeptDelivery) : null);
  const borders = (): Uint8Array[] => Buffer.from(read('borders')).toString('utf8').split('\n').map(fromHex);
  const names = readdirSync(own);
  return {
    jobId,
    spec: read('spec'),
    terms: read('terms'),
    isStaked: has('staked'),
    isGivenBack: has('given-back'),
    delivery: run('delivery'),
    refused: run('refused'),
    borders: has('borders') ? borders() : null,
    outcome: has('stopped') ? 1 : 0,
    proofs: numbersIn(names, proofName),
    told: numbersIn(names, toldName),
  };
}

function numbersIn(names: readonly string[], form: RegExp): number[] {
  return names
    .flatMap((name) => form.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function underOtherTerms(jobId: string): CollateralError {
  return new CollateralError('PROVER_JOB_KEPT', {
    expected: `job ${jobId} under the terms of the escrow that this node's stake is in`,
    got: 'others',
    rule: 'prover worker, jobs',
    action: 'offer it to another node, or when that escrow has ended',
  });
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

function tidyIn(folder: string): void {
  for (const name of namesIn(folder)) {
    const own = join(folder, name);
    if (isKeptIn(own)) for (const file of readdirSync(own)) if (partialName.test(file)) rmSync(join(own, file));
    if (!isKeptIn(own)) rmSync(own, { recursive: true });
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
