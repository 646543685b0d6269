/**
 * Groth16 proofs as files: the bundle of bytes, and the document that it is checked against. The bundle carries the
 * verification key; the document names it, so that a proof under another key is another claim.
 */
import { concatBytes, equalBytes, uintBe } from '#attestation';
import { canonicalJson, parseManifest, type CanonicalValue, type Manifest } from '#libs/step';
import { groth16ProofBytes, groth16Selector, keyBytes, type Ceremony } from '#libs/zk/verifier';
import { count, digest, hex, parseChain, parseEscrow, record, type Chain, type ProofEscrow } from './fields.js';
import { segmentsMax } from './limits.js';
import { refuse } from './refuse.js';

export type Groth16SegmentData = Chain<Uint8Array>['segments'][number];

export interface Groth16Statement extends Chain<Uint8Array> {
  readonly backend: 'groth16';
  readonly ceremony: Ceremony;
  /** keyDigest of libs/zk: circuit, ceremony and points. */
  readonly verificationKey: Uint8Array;
  /** Zero for a proof that serves no job. */
  readonly jobId: Uint8Array;
  readonly manifest: Manifest;
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  /** First step; a multiple of the manifest's superblock. */
  readonly firstStep: number;
  /** Where present, every proof is bound to its EIP-712 Segment instead of its StepStatement. */
  readonly escrow?: ProofEscrow;
}

const rule = 'proof SPEC, groth16';
const members = [
  ...['version', 'backend', 'ceremony', 'verificationKey', 'jobId', 'manifest', 'recordCount', 'datasetRoot'],
  ...['firstStep', 'borders', 'segments'],
];

/**
 * @param json a parsed JSON value
 * @throws Rejection PROOF_STATEMENT, and those of `parseManifest`
 */
export function parseGroth16Statement(json: unknown): Groth16Statement {
  const o = record(json, members, 'a statement', ['escrow']);
  if (o.version !== 1) refuse('PROOF_STATEMENT', 'version 1', o.version, rule);
  if (o.backend !== 'groth16') refuse('PROOF_STATEMENT', "backend 'groth16'", o.backend, rule);
  if (o.ceremony !== 'development' && o.ceremony !== 'external') {
    refuse('PROOF_STATEMENT', "ceremony 'development' or 'external'", o.ceremony, rule);
  }
  return {
    backend: 'groth16',
    ceremony: o.ceremony,
    verificationKey: digest(o.verificationKey),
    jobId: digest(o.jobId),
    manifest: parseManifest(o.manifest),
    recordCount: count(o.recordCount),
    datasetRoot: digest(o.datasetRoot),
    firstStep: count(o.firstStep),
    ...parseChain(o, digest, rule),
    ...(o.escrow !== undefined && { escrow: parseEscrow(o.escrow) }),
  };
}

/** RFC 8785 text of the document. */
export function groth16StatementText(statement: Groth16Statement): string {
  const { backend, ceremony, manifest, recordCount, firstStep, escrow } = statement;
  return canonicalJson({
    version: 1,
    backend,
    ceremony,
    verificationKey: hex(statement.verificationKey),
    jobId: hex(statement.jobId),
    manifest: manifest as unknown as CanonicalValue,
    recordCount,
    datasetRoot: hex(statement.datasetRoot),
    firstStep,
    borders: statement.borders.map(hex),
    segments: statement.segments.map(({ data, path }) => ({ data: hex(data), path: path.map(hex) })),
    ...(escrow && { escrow: { domain: hex(escrow.domain), job: hex(escrow.job) } }),
  });
}

/** selector ‖ verification key ‖ u32be number of proofs ‖ proofs */
export function encodeGroth16Bundle(key: Uint8Array, proofs: readonly Uint8Array[]): Uint8Array {
  return concatBytes(groth16Selector, key, uintBe(proofs.length, 4), ...proofs);
}

/** @throws Rejection PROOF_SELECTOR, PROOF_BUNDLE */
export function parseGroth16Bundle(bytes: Uint8Array): { key: Uint8Array; proofs: readonly Uint8Array[] } {
  if (!equalBytes(bytes.subarray(0, 4), groth16Selector)) {
    refuse('PROOF_SELECTOR', 'a bundle of Groth16 proofs', 'other', rule);
  }
  const proofsAt = 4 + keyBytes + 4;
  const n = (bytes.length - proofsAt) / groth16ProofBytes;
  if (!Number.isInteger(n) || n < 1 || n > segmentsMax) {
    refuse('PROOF_BUNDLE', `a key and 1 to ${segmentsMax} proofs of ${groth16ProofBytes} bytes`, bytes.length, rule);
  }
  if (!equalBytes(bytes.subarray(proofsAt - 4, proofsAt), uintBe(n, 4))) {
    refuse('PROOF_BUNDLE', `${n} proofs`, 'another number', rule);
  }
  const at = (i: number): number => proofsAt + i * groth16ProofBytes;
  return {
    key: bytes.subarray(4, 4 + keyBytes),
    proofs: Array.from({ length: n }, (_, i) => bytes.subarray(at(i), at(i + 1))),
  };
}
