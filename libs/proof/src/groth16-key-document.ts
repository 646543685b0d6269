/** A Groth16 verification key as a document: what a client names a job's plan by, and what stands beside a node's key. */
import { fromHex, to0x } from '#attestation/base';
import type { JobSpec } from '#attestation/records';
import { canonicalJson, parseManifestText, type Manifest } from '#libs/step';
import {
  circuitDigest,
  circuitShape,
  groth16PlanDigest,
  groth16SchemeId,
  keyDigest,
  parseKey,
  type Ceremony,
} from '#libs/zk/verifier';
import { record } from './fields.js';
import { groth16Admission } from './groth16-admission.js';
import { refuse } from './refuse.js';

export interface Groth16Key {
  readonly ceremony: Ceremony;
  /** Of libs/zk, `keyBytes` long. */
  readonly bytes: Uint8Array;
}

const rule = 'libs/proof/SPEC.md, groth16';

/**
 * @param json a parsed JSON value
 * @throws Rejection GROTH16_KEY, PROOF_STATEMENT
 */
export function parseGroth16Key(json: unknown): Groth16Key {
  const { version, ceremony, key } = record(json, ['version', 'ceremony', 'key'], 'a Groth16 key');
  if (version !== 1) refuse('GROTH16_KEY', 'version 1', version, rule);
  if (ceremony !== 'development' && ceremony !== 'external') {
    return refuse('GROTH16_KEY', "ceremony 'development' or 'external'", ceremony, rule);
  }
  if (typeof key !== 'string' || !/^0x([0-9a-f]{2})*$/.test(key)) {
    return refuse('GROTH16_KEY', '0x and lower-case hexadecimal digits', key, rule);
  }
  const bytes = fromHex(key);
  parseKey(bytes);
  return { ceremony, bytes };
}

/**
 * Digest of the key with the circuit of a job; undefined where the job is in another scheme.
 * @throws Rejection MANIFEST_*, GROTH16_SHAPE
 */
export function verificationKeyOf(
  { manifest, scheme }: Pick<JobSpec, 'manifest' | 'scheme'>,
  { bytes, ceremony }: Groth16Key,
): Uint8Array | undefined {
  if (scheme !== groth16SchemeId) return undefined;
  return keyDigest(circuitDigest(circuitShape(parseManifestText(manifest))), ceremony, bytes);
}

/** RFC 8785 text of the document. */
export function groth16KeyText({ ceremony, bytes }: Groth16Key): string {
  return canonicalJson({ version: 1, ceremony, key: to0x(bytes) });
}

/** The plan of jobs on this model under this key: what their spec names. @throws Rejection GROTH16_SHAPE */
export function groth16PlanOf(manifest: Manifest, { ceremony, bytes }: Groth16Key): Uint8Array {
  return groth16PlanDigest(groth16Admission(manifest).shape, ceremony, bytes);
}
