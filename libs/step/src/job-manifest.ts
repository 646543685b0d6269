/** The manifest of a job under either semantics: `fxt/1` (libs/step/SPEC.md §3) or `fxt/2` (§21). */
import { utf8 } from '#attestation/base';
import { programDigest } from '#attestation/records';
import { canonicalJson, type CanonicalValue } from './canonical-json.js';
import { manifestJson, parseManifest, type Manifest } from './manifest.js';
import { parseNetManifest } from './net/manifest.js';
import type { NetManifest } from './net/net.js';

export type JobManifest = Manifest | NetManifest;

export function isNet(m: JobManifest): m is NetManifest {
  return m.fxt === 2;
}

/** @throws Rejection MANIFEST_*, OP_*, STEP_RANGE_<rule> of a net */
export function parseJobManifest(json: unknown): JobManifest {
  const isTwo = typeof json === 'object' && json !== null && 'fxt' in json && json.fxt === 2;
  return isTwo ? parseNetManifest(json) : parseManifest(json);
}

/**
 * @param bytes UTF-8 JSON text
 * @throws Rejection MANIFEST_OVERSIZE, MANIFEST_JSON, BYTES_UTF8 and those of `parseJobManifest`
 */
export function parseJobManifestText(bytes: Uint8Array): JobManifest {
  return parseJobManifest(manifestJson(bytes));
}

/** Canonical bytes: RFC 8785 of the manifest with its defaults written out. */
export function canonicalManifest(manifest: JobManifest): Uint8Array {
  return utf8(canonicalJson(manifest as unknown as CanonicalValue));
}

/** keccak-256 of `veritrain/manifest/v1` or `/v2` and the canonical bytes; 32 bytes. */
export function manifestDigest(manifest: JobManifest): Uint8Array {
  return programDigest(canonicalManifest(manifest));
}
