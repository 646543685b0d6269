/** Identity of what is computed: the digest of the fxt/1 manifest in its canonical JSON (libs/step/SPEC.md §3). */
import { concatBytes, utf8 } from '../base/bytes.js';
import { keccak, type Digest } from '../base/digest.js';

export function programDigest(canonicalManifest: Uint8Array): Digest {
  return keccak(concatBytes(utf8('veritrain/manifest/v1'), canonicalManifest));
}
