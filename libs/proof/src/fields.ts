/** Members of statement documents. */
import { fromHex, to0x } from '#attestation/base';
import { parseManifest, type CanonicalValue, type Manifest } from '#libs/step';
import type { Commitment } from '#libs/zk/verifier';
import { segmentsMax } from './limits.js';
import { refuse } from './refuse.js';

/** The escrow that a chain of proofs is for: its contract's EIP-712 domain separator and the digest of its terms. */
export interface ProofEscrow {
  readonly domain: Uint8Array;
  readonly job: Uint8Array;
}

const rule = 'libs/proof/SPEC.md, statement';

/** What the statements of all backends say: consecutive segments of one job, in the commitments of a backend. */
export interface ChainStatement<C> {
  /** Zero for a proof that serves no job. */
  readonly jobId: Uint8Array;
  readonly manifest: Manifest;
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  /** First step; a multiple of the manifest's superblock. */
  readonly firstStep: number;
  /** Weight commitments before, between and after the segments. */
  readonly borders: readonly C[];
  readonly segments: readonly {
    /** Commitment to the superblock's records. */
    readonly data: C;
    /** Siblings of the superblock's data digest up to datasetRoot. */
    readonly path: readonly Uint8Array[];
  }[];
  /** Where present, every proof is bound to its EIP-712 Segment instead of its StepStatement. */
  readonly escrow?: ProofEscrow;
}

const chainMembers = [
  ...['version', 'backend', 'jobId', 'manifest', 'recordCount'],
  ...['datasetRoot', 'firstStep', 'borders', 'segments'],
];

/**
 * @param json       a parsed JSON value
 * @param own        names of the backend's own members
 * @param commitment reads one commitment of the backend
 * @returns          the chain, and the document for the members that are left
 * @throws Rejection PROOF_STATEMENT like all below, and those of `parseManifest`
 */
export function parseChainStatement<C>(
  json: unknown,
  backend: string,
  own: readonly string[],
  commitment: (value: unknown) => C,
): { readonly chain: ChainStatement<C>; readonly members: Record<string, unknown> } {
  const members = record(json, [...chainMembers, ...own], 'a statement', ['escrow']);
  if (members.version !== 1) refuse('PROOF_STATEMENT', 'version 1', members.version, rule);
  if (members.backend !== backend) refuse('PROOF_STATEMENT', `backend '${backend}'`, members.backend, rule);
  const chain = {
    jobId: digest(members.jobId),
    manifest: parseManifest(members.manifest),
    recordCount: count(members.recordCount),
    datasetRoot: digest(members.datasetRoot),
    firstStep: count(members.firstStep),
    ...parseSegments(members, commitment),
    ...(members.escrow !== undefined && { escrow: parseEscrow(members.escrow) }),
  };
  return { chain, members };
}

/** The members that `parseChainStatement` reads, as JSON. */
export function chainJson<C>(
  statement: ChainStatement<C> & { readonly backend: string },
  commitment: (commitment: C) => CanonicalValue,
): Record<string, CanonicalValue> {
  const { backend, manifest, recordCount, firstStep, escrow } = statement;
  return {
    version: 1,
    backend,
    jobId: to0x(statement.jobId),
    manifest: manifest as unknown as CanonicalValue,
    recordCount,
    datasetRoot: to0x(statement.datasetRoot),
    firstStep,
    borders: statement.borders.map(commitment),
    segments: statement.segments.map(({ data, path }) => ({ data: commitment(data), path: path.map(to0x) })),
    ...(escrow && { escrow: { domain: to0x(escrow.domain), job: to0x(escrow.job) } }),
  };
}

function parseSegments<C>(o: Record<string, unknown>, commitment: (value: unknown) => C) {
  const segments = list(o['segments'], 'segments', segmentsMax).map((entry) => {
    const { data, path } = record(entry, ['data', 'path'], 'a segment');
    return { data: commitment(data), path: list(path, 'path', 31).map(digest) };
  });
  const borders = list(o['borders'], 'borders', segmentsMax + 1).map(commitment);
  if (segments.length < 1 || borders.length !== segments.length + 1) {
    refuse('PROOF_STATEMENT', 'one border more than segments', `${borders.length} and ${segments.length}`, rule);
  }
  return { borders, segments };
}

function parseEscrow(value: unknown): ProofEscrow {
  const { domain, job } = record(value, ['domain', 'job'], 'an escrow');
  return { domain: digest(domain), job: digest(job) };
}

export function record(
  value: unknown,
  names: readonly string[],
  what: string,
  optional: readonly string[] = [],
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('PROOF_STATEMENT', `${what} as an object`, value, rule);
  }
  const keys = Object.keys(value);
  const known = [...names, ...optional];
  for (const name of names) if (!keys.includes(name)) refuse('PROOF_STATEMENT', `${what} with ${name}`, 'none', rule);
  for (const key of keys) if (!known.includes(key)) refuse('PROOF_STATEMENT', `${what} without ${key}`, key, rule);
  return value as Record<string, unknown>;
}

export function list(value: unknown, name: string, most: number): unknown[] {
  if (!Array.isArray(value) || value.length > most) {
    return refuse('PROOF_STATEMENT', `${name} as a list of at most ${most}`, typeof value, rule);
  }
  return value;
}

export function digest(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/.test(value)) {
    return refuse('PROOF_STATEMENT', '0x and 64 lower-case hexadecimal digits', value, rule);
  }
  return fromHex(value);
}

export function count(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    return refuse('PROOF_STATEMENT', 'a whole number', value, rule);
  }
  // −0 has no canonical text.
  return value + 0;
}

/** A commitment of scheme `fxt-zk/1`. */
export function commitment(value: unknown): Commitment {
  const { root, ood } = record(value, ['root', 'ood'], 'a commitment');
  return { root: digest(root), ood: digest(ood) };
}
