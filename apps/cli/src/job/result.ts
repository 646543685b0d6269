/** From a delivered job to weights the client has checked: fetch, verify, acknowledge, decrypt, compare. */
import { createHash, webcrypto } from 'node:crypto';
import { x25519 } from '@noble/curves/ed25519.js';
import {
  deliveryAssociatedData,
  deliveryKey,
  equalBytes,
  fromHex,
  jobDigest,
  parseJobSpec,
  parseSessionEvidence,
  Rejection,
  toHex,
  verifyBundle,
  weightsDigest,
  type AppraisalPolicy,
  type BundleVerdict,
  type Terms,
} from '#attestation';
import { commitWeights, decodeWeights, parseManifestText, stateDigest, type Manifest, type Weights } from '#libs/step';
import type { ControlPlaneApi } from '../api.js';
import type { Profile } from '../profile.js';
import { readSecret } from '../secrets.js';
import { openChain } from './chain.js';
import { followJob } from './follow.js';
import { ownTerms } from './record.js';

export interface CheckedResult {
  readonly manifest: Manifest;
  readonly weights: Weights;
  readonly stateDigest: string;
  readonly weightsDigest: string;
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
  const terms = ownTerms(profile, jobId);
  const ciphertext = await api.getBytes(`jobs/${jobId}/result`);
  const verdict = await verifyBundle({ bundle: await api.getBytes(`jobs/${jobId}/bundle`), policy });
  accepted(verdict, jobId, terms);
  agree('RESULT_CIPHERTEXT', verdict.bundle.delivery.ciphertextDigest, sha256(ciphertext));
  const chain = openChain(profile);
  try {
    const committed = await chain.untilCommitted(terms);
    agree('RESULT_COMMITMENT', verdict.bundle.run.last, committed.last);
    // Paying opens the delivery that the chain knows; another one with the same weights would stay closed.
    agree('RESULT_DELIVERY', verdict.bundle.run.delivery, committed.delivery);
    await chain.escrow.acknowledge(terms);
    await chain.untilSettled(terms);
    const revealed = await chain.revealed(terms);
    if (revealed === null) throw refused('RESULT_KEY', 'the reveal key on chain', 'none');
    const opened = await decrypt(verdict, ciphertext, revealed.key, readSecret(profile.recipientKey));
    return { ...readWeights(verdict, opened, committed.last), verdict, settledBy: revealed.transaction };
  } finally {
    chain.close();
  }
}

function readWeights(
  { bundle }: BundleVerdict,
  plaintext: Uint8Array,
  committed: Uint8Array,
): Pick<CheckedResult, 'manifest' | 'weights' | 'stateDigest' | 'weightsDigest'> {
  const spec = parseJobSpec(bundle.spec);
  const manifest = parseManifestText(spec.manifest);
  const weights = decodeWeights(manifest, plaintext);
  const digest = weightsDigest(commitWeights(spec.scheme, manifest, weights));
  agree('RESULT_WEIGHTS', committed, digest);
  return { manifest, weights, stateDigest: toHex(stateDigest(manifest, weights)), weightsDigest: toHex(digest) };
}

/**
 * The bundle of a settled job, verified again: it may say nothing else than the one that was paid for.
 * @throws Rejection RESULT_*
 */
export async function fetchBundle(
  jobId: string,
  profile: Profile,
  policy: AppraisalPolicy,
  api: ControlPlaneApi,
): Promise<Uint8Array> {
  await followJob(jobId, api, () => undefined, ['settled']);
  const bundle = await api.getBytes(`jobs/${jobId}/bundle`);
  accepted(await verifyBundle({ bundle, policy }), jobId, ownTerms(profile, jobId));
  return bundle;
}

function accepted(verdict: BundleVerdict, jobId: string, terms: Terms): void {
  if (`0x${verdict.jobId}` !== jobId) throw refused('RESULT_JOB', jobId, verdict.jobId);
  const escrowId = toHex(jobDigest(terms));
  if (verdict.escrowId !== escrowId) throw refused('RESULT_ESCROW', escrowId, verdict.escrowId);
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
