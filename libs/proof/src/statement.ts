/**
 * What a proof bundle claims, as a document that goes with it: consecutive segments of one job, their borders and their
 * data. Everything else, the StepStatements included, follows from it.
 */
import { fromHex, segmentDigest, stepStatementDigest, toHex, type StepStatement } from '#attestation';
import { canonicalJson, manifestDigest, parseManifest, type CanonicalValue, type Manifest } from '#libs/step';
import { derivePlan, profiles, weightsDigestOf, type Commitment, type Plan, type Variant } from '#libs/zk/verifier';
import { segmentsMax } from './limits.js';
import { refuse } from './refuse.js';

export interface SegmentData {
  readonly data: Commitment;
  /** Siblings of the superblock's dataDigest up to datasetRoot. */
  readonly path: readonly Uint8Array[];
}

/** The escrow that a chain of proofs is for: its contract's EIP-712 domain separator and the digest of its terms. */
export interface ProofEscrow {
  readonly domain: Uint8Array;
  readonly job: Uint8Array;
}

export interface ProofStatement {
  readonly backend: 'sumcheck';
  readonly profile: string;
  readonly variant: Variant;
  /** Zero for a proof that serves no job. */
  readonly jobId: Uint8Array;
  readonly manifest: Manifest;
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  /** First step; a multiple of the manifest's superblock. */
  readonly firstStep: number;
  /** Weight commitments before, between and after the segments. */
  readonly borders: readonly Commitment[];
  readonly segments: readonly SegmentData[];
  /** Where present, every proof is bound to its EIP-712 Segment instead of its StepStatement. */
  readonly escrow?: ProofEscrow;
}

const rule = 'proof SPEC, statement';
const members = [
  ...['version', 'backend', 'profile', 'variant', 'jobId', 'manifest', 'recordCount', 'datasetRoot', 'firstStep'],
  ...['borders', 'segments'],
];

/**
 * @param json a parsed JSON value
 * @throws Rejection PROOF_STATEMENT, and those of `parseManifest`
 */
export function parseProofStatement(json: unknown): ProofStatement {
  const o = record(json, members, 'a statement', ['escrow']);
  if (o.version !== 1) refuse('PROOF_STATEMENT', 'version 1', o.version, rule);
  if (o.backend !== 'sumcheck') refuse('PROOF_STATEMENT', "backend 'sumcheck'", o.backend, rule);
  if (o.variant !== 'joint' && o.variant !== 'separate') {
    refuse('PROOF_STATEMENT', "variant 'joint' or 'separate'", o.variant, rule);
  }
  const segments = list(o.segments, 'segments', segmentsMax).map((entry): SegmentData => {
    const { data, path } = record(entry, ['data', 'path'], 'a segment');
    return { data: commitment(data), path: list(path, 'path', 31).map(digest) };
  });
  const borders = list(o.borders, 'borders', segmentsMax + 1).map(commitment);
  if (segments.length < 1 || borders.length !== segments.length + 1) {
    refuse('PROOF_STATEMENT', 'one border more than segments', `${borders.length} and ${segments.length}`, rule);
  }
  return {
    backend: 'sumcheck',
    profile: typeof o.profile === 'string' ? o.profile : refuse('PROOF_STATEMENT', 'a profile', o.profile, rule),
    variant: o.variant,
    jobId: digest(o.jobId),
    manifest: parseManifest(o.manifest),
    recordCount: count(o.recordCount),
    datasetRoot: digest(o.datasetRoot),
    firstStep: count(o.firstStep),
    borders,
    segments,
    ...(o.escrow !== undefined && { escrow: parseEscrow(o.escrow) }),
  };
}

/** RFC 8785 text of the document. */
export function proofStatementText(statement: ProofStatement): string {
  const { backend, profile, variant, manifest, recordCount, firstStep } = statement;
  const commitmentJson = ({ root, ood }: Commitment) => ({ root: hex(root), ood: hex(ood) });
  return canonicalJson({
    version: 1,
    backend,
    profile,
    variant,
    jobId: hex(statement.jobId),
    manifest: manifest as unknown as CanonicalValue,
    recordCount,
    datasetRoot: hex(statement.datasetRoot),
    firstStep,
    borders: statement.borders.map(commitmentJson),
    segments: statement.segments.map(({ data, path }) => ({ data: commitmentJson(data), path: path.map(hex) })),
    ...(statement.escrow && { escrow: { domain: hex(statement.escrow.domain), job: hex(statement.escrow.job) } }),
  });
}

/** @throws Rejection STEP_PLAN */
export function planOf(statement: Pick<ProofStatement, 'manifest' | 'profile' | 'variant'>): Plan {
  const profile = profiles.get(statement.profile);
  if (profile === undefined) {
    return refuse('STEP_PLAN', `one of ${[...profiles.keys()].join(', ')}`, statement.profile, 'step-proof §12');
  }
  return derivePlan(statement.manifest, profile, statement.variant);
}

/** Steps that segment `index` of the statement counts: fewer at the end of a job that ends inside a superblock. */
export function stepsOf({ manifest, firstStep }: ProofStatement, index: number): { from: number; count: number } {
  const from = firstStep + index * manifest.superblock;
  return { from, count: Math.min(manifest.superblock, manifest.steps - from) };
}

/** What all segments together claim. */
export function wholeStatement(statement: ProofStatement, plan: Plan): StepStatement {
  const { segments, firstStep } = statement;
  const last = stepsOf(statement, segments.length - 1);
  return stepStatementOf(statement, plan, firstStep, last.from + last.count - firstStep, [0, segments.length]);
}

/** What the proof of one segment is bound to: its Segment where there is an escrow, else its StepStatement. */
export function segmentOuterDigest(
  {
    jobId,
    manifest,
    datasetRoot,
    escrow,
  }: Pick<ProofStatement, 'jobId' | 'manifest' | 'datasetRoot'> & { readonly escrow?: ProofEscrow | undefined },
  { from, count: stepCount }: { readonly from: number; readonly count: number },
  weightsBefore: Uint8Array,
  weightsAfter: Uint8Array,
): Uint8Array {
  if (escrow !== undefined) {
    const index = from / manifest.superblock;
    return segmentDigest(escrow.domain, { job: escrow.job, index, weightsBefore, weightsAfter });
  }
  const programDigest = manifestDigest(manifest);
  return stepStatementDigest({
    ...{ jobId, programDigest, datasetRoot, stepFrom: from, stepCount, weightsBefore, weightsAfter },
  });
}

function stepStatementOf(
  { jobId, manifest, datasetRoot, borders }: ProofStatement,
  plan: Plan,
  stepFrom: number,
  stepCount: number,
  [before, after]: readonly [number, number],
): StepStatement {
  return {
    jobId,
    programDigest: manifestDigest(manifest),
    datasetRoot,
    stepFrom,
    stepCount,
    weightsBefore: weightsDigestOf(borders[before]!, plan),
    weightsAfter: weightsDigestOf(borders[after]!, plan),
  };
}

function parseEscrow(value: unknown): ProofEscrow {
  const { domain, job } = record(value, ['domain', 'job'], 'an escrow');
  return { domain: digest(domain), job: digest(job) };
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

function record(
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

function list(value: unknown, name: string, most: number): unknown[] {
  if (!Array.isArray(value) || value.length > most) {
    return refuse('PROOF_STATEMENT', `${name} as a list of at most ${most}`, typeof value, rule);
  }
  return value;
}

function digest(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/.test(value)) {
    return refuse('PROOF_STATEMENT', '0x and 64 lower-case hexadecimal digits', value, rule);
  }
  return fromHex(value);
}

function commitment(value: unknown): Commitment {
  const { root, ood } = record(value, ['root', 'ood'], 'a commitment');
  return { root: digest(root), ood: digest(ood) };
}

function count(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    return refuse('PROOF_STATEMENT', 'a whole number', value, rule);
  }
  return value;
}
