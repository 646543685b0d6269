/**
 * Groth16 proofs as files: the bundle of bytes, and the document that it is checked against. The bundle carries the
 * verification key; the document names it, so that a proof under another key is another claim.
 */
import { concatBytes, equalBytes, to0x, uintBe } from '#attestation/base';
import { canonicalJson } from '#libs/step';
import { groth16ProofBytes, groth16Selector, keyBytes, type Ceremony } from '#libs/zk/verifier';
import { chainJson, digest, parseChainStatement, type ChainStatement } from './fields.js';
import { segmentsMax } from './limits.js';
import { refuse } from './refuse.js';

export type Groth16SegmentData = ChainStatement<Uint8Array>['segments'][number];

export interface Groth16Statement extends ChainStatement<Uint8Array> {
  readonly backend: 'groth16';
  readonly ceremony: Ceremony;
  /** keyDigest of libs/zk: circuit, ceremony and points. */
  readonly verificationKey: Uint8Array;
}

const rule = 'libs/proof/SPEC.md, groth16';

/**
 * @param json a parsed JSON value
 * @throws Rejection PROOF_STATEMENT, and those of `parseManifest`
 */
export function parseGroth16Statement(json: unknown): Groth16Statement {
  const { chain, members } = parseChainStatement(json, 'groth16', ['ceremony', 'verificationKey'], digest);
  const { ceremony } = members;
  if (ceremony !== 'development' && ceremony !== 'external') {
    return refuse('PROOF_STATEMENT', "ceremony 'development' or 'external'", ceremony, rule);
  }
  return { backend: 'groth16', ceremony, verificationKey: digest(members.verificationKey), ...chain };
}

/** RFC 8785 text of the document. */
export function groth16StatementText(statement: Groth16Statement): string {
  const { ceremony, verificationKey } = statement;
  return canonicalJson({ ...chainJson(statement, to0x), ceremony, verificationKey: to0x(verificationKey) });
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
