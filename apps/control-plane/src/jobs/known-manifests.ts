/** Manifests that were found in order, by their bytes: jobs of one model differ in little else than their salt. */
import { equalBytes } from '#attestation/base';
import { canonicalManifest, checkBounds, isNet, parseJobManifestText, type JobManifest } from '#libs/step';
import { refusal } from '../core/problem/codes.js';

const keptMax = 64;
/** Least recently asked for first. */
const kept = new Map<string, JobManifest>();

/** @throws Rejection MANIFEST_*, JOB_MANIFEST_CANONICAL, the range rules of libs/step */
export function checkedManifest(bytes: Uint8Array): JobManifest {
  const name = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const manifest = kept.get(name) ?? check(bytes);
  kept.delete(name);
  kept.set(name, manifest);
  if (kept.size > keptMax) kept.delete(kept.keys().next().value!);
  return manifest;
}

function check(bytes: Uint8Array): JobManifest {
  const manifest = parseJobManifestText(bytes);
  if (!equalBytes(canonicalManifest(manifest), bytes)) {
    throw refusal('JOB_MANIFEST_CANONICAL', {
      expected: 'the canonical JSON of the manifest in the spec',
      got: 'other bytes',
      rule: 'apps/control-plane/README.md, submission',
      action: 'Correct the submission and send it with a new key.',
    });
  }
  if (!isNet(manifest)) checkBounds(manifest);
  return manifest;
}
