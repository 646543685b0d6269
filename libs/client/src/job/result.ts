/** From a delivered job to weights the client has checked: fetch, verify, acknowledge, decrypt, compare. */
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyBundle, type AppraisalPolicy, type BundleVerdict, type ProofVerifier } from '#attestation';
import { CodedError, equalBytes, fromHex, Rejection, toHex } from '#attestation/base';
import {
  escrowIdOf,
  JobMode,
  parseJobSpec,
  parseSessionEvidence,
  pieceRanges,
  weightsDigest,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { verifyBundledProofUnder } from '#libs/proof';
import { startBorder } from '#libs/review';
import { openedBytes, openResult, openResultPieces, type OpenedBytes } from '#libs/sealing';
import {
  commitWeights,
  decodeWeights,
  isInPieces,
  isNet,
  parseJobManifestText,
  readWeights,
  stateDigest,
  type JobManifest,
  type Weights,
} from '#libs/step';
import { commitmentFormat, createCommitter, keccakParts, weightsDigestOf } from '#libs/zk/commit';
import { borderBlind, commitToWeights } from '#libs/zk/groth16/commitment';
import { circuitShape, groth16SchemeId, groth16WeightsDigest } from '#libs/zk/verifier';
import type { ControlPlaneApi } from '../api/api.js';
import type { Profile } from '../api/profile.js';
import { readSecret } from '../files/secrets.js';
import { openChain, type ClientChain, type CommittedResult } from './chain.js';
import { download, type Downloaded } from './downloaded.js';
import { followJob } from '../api/follow.js';
import { ownSeed, ownTerms } from './record.js';
import { untilSampleProved } from './sample.js';

const bundlePauseMs = 500;

export interface CheckedResult {
  readonly manifest: JobManifest;
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
  const ciphertext = await download(api.getParts(`jobs/${jobId}/result`));
  const chain = openChain(profile);
  try {
    const isSampled = (terms.mode & JobMode.sample) !== 0;
    const drawn = isSampled ? await untilSampleProved(chain, terms, ownSeed(profile, jobId)) : [];
    const bundle = await wholeBundle(jobId, api, () => chain.requireOpen(terms));
    const verdict = await verifyBundle({ bundle, policy, proofs: proofsFor(profile), startOf: startBorder, drawn });
    accepted(verdict, jobId, terms);
    agree('RESULT_CIPHERTEXT', verdict.bundle.delivery.ciphertextDigest, ciphertext.digest);
    const committed = await chain.untilCommitted(terms);
    agreeWithChain(verdict.bundle.run, committed);
    if ((terms.mode & JobMode.reveal) !== 0) await chain.escrow.delivery.acknowledge(terms);
    const settledBy = await chain.untilSettled(terms);
    const box = await boxOf(verdict, ciphertext, terms, chain);
    return { ...(await openWeights(verdict, box, readSecret(profile.recipientKey))), verdict, settledBy };
  } finally {
    ciphertext.remove();
    chain.close();
  }
}

/**
 * Paying opens the delivery that the chain knows; another one with the same weights would stay closed.
 * @throws Rejection RESULT_COMMITMENT, RESULT_DELIVERY
 */
export function agreeWithChain(run: CommittedResult, committed: CommittedResult): void {
  agree('RESULT_COMMITMENT', run.last, committed.last);
  agree('RESULT_DELIVERY', run.delivery, committed.delivery);
}

/** The weights are those that the verdict names: the last border's, or the best evaluation's where a rule may stop the job. */
async function openWeights(
  verdict: BundleVerdict,
  box: Box,
  recipientSecret: Uint8Array,
): Promise<Pick<CheckedResult, 'manifest' | 'weights' | 'stateDigest' | 'weightsDigest'>> {
  const spec = parseJobSpec(verdict.bundle.spec);
  const manifest = parseJobManifestText(spec.manifest);
  const context = contextOf(verdict, box, recipientSecret);
  const { weights, digest } =
    isInPieces(manifest) && spec.proving === null
      ? readLarge(spec, manifest, await openLarge(box, context))
      : readResult(
          spec,
          manifest,
          await openResult(await box.ciphertext.read(box.from, box.ciphertext.bytes), context),
        );
  agree('RESULT_WEIGHTS', fromHex(verdict.result), digest);
  return {
    manifest,
    weights,
    stateDigest: toHex(stateDigest(manifest, weights, keccakParts)),
    weightsDigest: toHex(digest),
  };
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
  const terms = ownTerms(profile, jobId);
  const bundle = await api.getBytes(`jobs/${jobId}/bundle`);
  const chain = openChain(profile);
  try {
    const drawn = (await chain.escrow.duties.sampleOf(terms)) ?? [];
    accepted(
      await verifyBundle({ bundle, policy, proofs: proofsFor(profile), startOf: startBorder, drawn }),
      jobId,
      terms,
    );
  } finally {
    chain.close();
  }
  return bundle;
}

/** The key of a Groth16 job the client named itself; whether one machine may have made it, its profile says. */
function proofsFor({ developmentKeys }: Profile): ProofVerifier {
  return verifyBundledProofUnder({ takesDevelopmentKeys: developmentKeys === true, isOwnPlan: true });
}

function accepted(verdict: BundleVerdict, jobId: string, terms: Terms): void {
  if (`0x${verdict.jobId}` !== jobId) throw refused('RESULT_JOB', jobId, verdict.jobId);
  const escrowId = toHex(escrowIdOf(terms));
  if (verdict.escrowId !== escrowId) throw refused('RESULT_ESCROW', escrowId, verdict.escrowId);
  if (verdict.tier === 'affirming' || verdict.tier === 'warning') return;
  const open = verdict.checks.filter(({ status }) => status !== 'met' && status !== 'warned');
  throw refused('RESULT_BUNDLE', 'a bundle that the policy accepts', open.map(({ code }) => code).join(', '));
}

/** What the result's key is made of, beside the recipient's secret. */
interface Box {
  readonly transportKey: Uint8Array;
  readonly revealKey: Uint8Array;
  readonly ciphertext: Downloaded;
  /** Where in it what is sealed begins. */
  readonly from: number;
}

/** Where the payment reveals no key, none is withheld: whoever made the result says its own key in front. */
async function boxOf(
  { bundle }: BundleVerdict,
  ciphertext: Downloaded,
  terms: Terms,
  chain: ClientChain,
): Promise<Box> {
  if (bundle.seal === null || (terms.mode & JobMode.reveal) === 0) {
    const from = Math.min(32, ciphertext.bytes);
    return { transportKey: await ciphertext.read(0, from), revealKey: new Uint8Array(32), ciphertext, from };
  }
  const revealed = await chain.revealed(terms);
  if (revealed === null) throw refused('RESULT_KEY', 'the reveal key on chain', 'none');
  const { binding } = parseSessionEvidence(bundle.sessions[bundle.seal.session]!.evidence);
  return { transportKey: binding.transportKey, revealKey: revealed.key, ciphertext, from: 0 };
}

function contextOf({ result, jobId }: BundleVerdict, { transportKey, revealKey }: Box, recipientSecret: Uint8Array) {
  const parties = { secret: recipientSecret, peer: transportKey, revealKey };
  return { ...parties, jobId: fromHex(jobId), last: fromHex(result) };
}

/** Piece by piece. @throws Rejection RESULT_DECRYPT, RECIPIENT_KEY, PIECES_* */
async function openLarge({ ciphertext, from }: Box, context: ReturnType<typeof contextOf>): Promise<OpenedBytes> {
  const opener = openResultPieces(context);
  const parts: Uint8Array[] = [];
  for (const range of pieceRanges(ciphertext.bytes - from)) {
    parts.push(await opener.take(await ciphertext.read(from + range.from, from + range.to)));
  }
  opener.end();
  return openedBytes(parts);
}

/** No seed stands behind weights that nobody proves. @throws Rejection WEIGHTS_*, PIECES_SIZE */
function readLarge({ scheme }: JobSpec, manifest: JobManifest, opened: OpenedBytes) {
  const weights = readWeights(manifest, opened.take);
  opened.end();
  return { weights, digest: weightsDigest(commitWeights(scheme, manifest, weights, keccakParts)) };
}

/** The weights, behind them the seed of their commitment where the scheme has one; and what both commit to. */
function readResult({ scheme, proving }: JobSpec, manifest: JobManifest, plaintext: Uint8Array) {
  if (proving === null || isNet(manifest)) {
    const weights = decodeWeights(manifest, plaintext);
    return { weights, digest: weightsDigest(commitWeights(scheme, manifest, weights, keccakParts)) };
  }
  const [weights, seed] = [decodeWeights(manifest, plaintext.slice(0, -32)), plaintext.slice(-32)];
  if (scheme === groth16SchemeId) {
    const shape = circuitShape(manifest);
    return { weights, digest: groth16WeightsDigest(shape, commitToWeights(shape, weights, borderBlind(seed))) };
  }
  const format = commitmentFormat(manifest, proving.profile);
  const commitment = createCommitter(format).weights(weights, seed);
  return { weights, digest: weightsDigestOf(commitment, format) };
}

/** Waits for the last proof where the job's steps are proved beside an enclave, as long as one can come. */
async function wholeBundle(jobId: string, api: ControlPlaneApi, requireOpen: () => Promise<void>): Promise<Uint8Array> {
  for (;;) {
    try {
      return await api.getBytes(`jobs/${jobId}/bundle`);
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== 'JOB_BUNDLE_PENDING') throw error;
      await requireOpen();
      await sleep(bundlePauseMs);
    }
  }
}

function agree(code: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw refused(code, toHex(expected), toHex(got));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'contracts/SPEC.md §12',
    action: 'do not pay; keep the bundle as evidence',
  });
}
