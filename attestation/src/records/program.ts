/** Identity of what is computed: the digest of the manifest in its canonical JSON (libs/step/SPEC.md §3). */
import { concatBytes, utf8 } from '../base/bytes.js';
import { keccak, type Digest } from '../base/digest.js';
import { manifestMembers } from './manifest-text.js';

/** Which semantics a manifest is of: 2 where it says `"fxt":2`, else 1. Total over all bytes. */
export function semanticsOf(canonicalManifest: Uint8Array): 1 | 2 {
  return manifestMembers(canonicalManifest)?.['fxt'] === 2 ? 2 : 1;
}

export function programDigest(canonicalManifest: Uint8Array): Digest {
  const tag = `veritrain/manifest/v${semanticsOf(canonicalManifest)}`;
  return keccak(concatBytes(utf8(tag), canonicalManifest));
}
