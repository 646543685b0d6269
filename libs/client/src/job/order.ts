/** A job from what a client wishes: how it is proved, which node does it, how it is vouched for; then it is submitted. */
import { to0x } from '#attestation/base';
import { decideAssurance, provenSteps } from '#libs/proof';
import type { ControlPlaneApi } from '../api/api.js';
import type { Watch } from '../dataset/watch.js';
import type { Profile } from '../api/profile.js';
import { chooseProving, type BackendWish } from './backend.js';
import { chooseNode, type NodeWish } from './choose-node.js';
import { usualSegment } from './segments.js';
import { readJob, submitJob, type Submitted, type SubmitRequest } from './submit.js';

interface JobOrder
  extends
    Omit<SubmitRequest, 'provider' | 'backend' | 'segmentSteps'>,
    Partial<Pick<NodeWish, 'provider' | 'absentProvider' | 'anyProvider'>> {
  readonly backend?: BackendWish | undefined;
  /** Steps per checkpoint; where absent, the superblock of a job that can be proved, else what `usualSegment` says. */
  readonly segmentSteps?: number | undefined;
  /** By an enclave and by proofs, whatever it pays. */
  readonly highValue?: boolean | undefined;
}

interface OrderedJob extends Submitted {
  readonly provider: string;
  /** What every step is vouched for by, and why. */
  readonly decision: ReturnType<typeof decideAssurance>;
  /** Why this argument system; one sentence each. */
  readonly why: readonly string[];
}

/**
 * @throws ConfigurationError those of `chooseNode` and `chooseProving`, FILE_*, JOB_*; Rejection STEP_*, DATASET_MANIFEST,
 *   and what the control plane or the contract refuses
 */
export async function orderJob(
  order: JobOrder,
  profile: Profile,
  api: ControlPlaneApi,
  watch: Watch = {},
): Promise<OrderedJob> {
  const { manifest, dataset } = readJob(order);
  const { why, key, proving } = chooseProving(manifest, dataset, order, profile);
  const plan = key === undefined ? null : to0x(proving!.planDigest);
  const { assurance: requested = 'tee' } = order;
  const trusted = profile.providers ?? [];
  const { provider, hasTee } = await chooseNode({ ...order, assurance: requested, trusted, plan }, api);
  const { highValueFromWei } = profile;
  const decision = decideAssurance(
    {
      ...{ requested, priceWei: order.rewardWei, isHighValue: order.highValue ?? false },
      highValueFromWei: highValueFromWei === undefined ? null : BigInt(highValueFromWei),
    },
    { hasTee, attestedUntil: null },
    Math.floor(Date.now() / 1000),
  );
  const { assurance } = decision;
  const backend = key === undefined ? 'sumcheck' : 'groth16';
  const segmentSteps =
    order.segmentSteps ??
    (proving === null ? usualSegment(manifest, order.parallel) : provenSteps(manifest, proving.profile));
  const submitted = await submitJob({ ...order, segmentSteps, backend, assurance, provider }, profile, api, watch);
  return { ...submitted, provider, decision, why };
}
