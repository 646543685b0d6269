/** From a delivered job to weights the client has checked: fetch, verify, acknowledge, decrypt, compare. */
import { createHash, webcrypto } from 'node:crypto';
import { x25519 } from '@noble/curves/ed25519.js';
import {
  decodeTerms,
  deliveryAssociatedData,
  deliveryKey,
  equalBytes,
  fromHex,
  parseJobSpec,
  parseSessionEvidence,
  Rejection,
  toHex,
  verifyBundle,
  weightsDigest,
  type AppraisalPolicy,
  type BundleVerdict,
} from '#attestation';
import { commitWeights, decodeWeights, parseManifestText, stateDigest, type Manifest, type Weights } from '#libs/step';
import type { ControlPlaneApi } from '../api.js';
import type { Profile } from '../profile.js';
import { readSecret } from '../secrets.js';
import { openChain } from './chain.js';
import { followJob } from './follow.js';

export interface CheckedResult {
  readonly manifest: Manifest;
  readonly weights: Weights;
  readonly stateDigest: string;
  readonly weightsDigest: string;
  readonly bundle: Uint8Array;
  readonly verdict: BundleVerdict;
  /** Transaction that paid and revealed the key. */
  readonly settledBy: string;
}

/**
 * @param policy  the client's own: a bundle that it does not accept is not paid for
 * @throws Rejection RESULT_* naming what does not agree; ESCROW_ENDED
 */
export async function fetchResult(
  jobId: string,
  profile: Profile,
  policy: AppraisalPolicy,
  api: ControlPlaneApi,
): Promise<CheckedResult> {
  const ciphertext = await api.getBytes(`jobs/${jobId}/result`);
  const delivered = await verifyBundle({ bundle: await api.getBytes(`jobs/${jobId}/bundle`), policy });
  accepted(delivered, jobId);
  const { bundle } = delivered;
  agree('RESULT_CIPHERTEXT', bundle.delivery.ciphertextDigest, sha256(ciphertext));
  const terms = decodeTerms(bundle.terms);
  const chain = openChain(profile);
  try {
    const committed = await untilCommitted(() => chain.committed(terms));
    agree('RESULT_COMMITMENT', bundle.run.last, committed.last);
    await chain.escrow.acknowledge(terms);
    await chain.untilSettled(terms);
    const revealed = await chain.revealed(terms);
    if (revealed === null) throw refused('RESULT_KEY', 'the reveal key on chain', 'none');
    const plaintext = await decrypt(delivered, ciphertext, revealed.key, readSecret(profile.recipientKey));
    const spec = parseJobSpec(bundle.spec);
    const manifest = parseManifestText(spec.manifest);
    const weights = decodeWeights(manifest, plaintext);
    const digest = weightsDigest(commitWeights(spec.scheme, manifest, weights));
    agree('RESULT_WEIGHTS', committed.last, digest);
    return {
      manifest,
      weights,
      stateDigest: toHex(stateDigest(manifest, weights)),
      weightsDigest: toHex(digest),
      bundle: await settledBundle(jobId, api),
      verdict: delivered,
      settledBy: revealed.transaction,
    };
  } finally {
    chain.close();
  }
}

/** The bundle once it names the settling transaction: the control plane follows the chain a moment later. */
async function settledBundle(jobId: string, api: ControlPlaneApi): Promise<Uint8Array> {
  await followJob(jobId, api, () => undefined, ['settled']);
  return api.getBytes(`jobs/${jobId}/bundle`);
}

async function untilCommitted<T>(read: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await read();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function accepted(verdict: BundleVerdict, jobId: string): void {
  if (`0x${verdict.jobId}` !== jobId) throw refused('RESULT_JOB', jobId, verdict.jobId);
  if (verdict.tier === 'affirming' || verdict.tier === 'warning') return;
  const open = verdict.checks.filter(({ status }) => status !== 'met' && status !== 'warned');
  throw refused('RESULT_BUNDLE', 'a bundle that the policy accepts', open.map(({ code }) => code).join(', '));
}

async function decrypt(
  { bundle, jobId }: BundleVerdict,
  ciphertext: Uint8Array,
  revealKey: Uint8Array,
  recipientSecret: Uint8Array,
): Promise<Uint8Array> {
  const { binding } = parseSessionEvidence(bundle.sessions[bundle.seal.session]!.evidence);
  const shared = x25519.getSharedSecret(recipientSecret, binding.transportKey);
  const key = deliveryKey(revealKey, shared, fromHex(jobId));
  const aes = await webcrypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
  const additionalData = deliveryAssociatedData(fromHex(jobId), bundle.run.last);
  try {
    const iv = ciphertext.slice(0, 12);
    const opened = await webcrypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, aes, ciphertext.slice(12));
    return new Uint8Array(opened);
  } catch {
    throw refused('RESULT_DECRYPT', 'a result encrypted to this recipient key', 'bytes that do not open');
  }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}

function agree(code: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw refused(code, toHex(expected), toHex(got));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'settlement §12',
    action: 'do not pay; keep the bundle as evidence',
  });
}
