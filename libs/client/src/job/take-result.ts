/** A result as files: the model, its integers, the manifest and the evidence. */
import { join } from 'node:path';
import { canonicalManifest, encodeWeights, floatOnnx, isNet } from '#libs/step';
import type { ControlPlaneApi, ServerEvent } from '../api.js';
import { writeWhole } from '../files.js';
import { readPolicy } from '../policy.js';
import type { Profile } from '../profile.js';
import { followJob } from './follow.js';
import { fetchBundle, fetchResult, type CheckedResult } from './result.js';

/** What `takeResult` writes. */
export const resultFiles = ['model.onnx', 'weights.bin', 'manifest.json', 'job.vtb'] as const;

/**
 * Follows the job, verifies its evidence under the profile's policy, acknowledges, decrypts, and writes `resultFiles`; of a
 * net without `model.onnx`.
 *
 * @param out folder
 * @throws Rejection RESULT_* naming what does not agree; ESCROW_ENDED; the job's own code where it ended otherwise
 */
export async function takeResult(
  jobId: string,
  out: string,
  profile: Profile,
  api: ControlPlaneApi,
  onEvent: (event: ServerEvent) => void,
): Promise<CheckedResult> {
  await followJob(jobId, api, onEvent, ['delivered', 'settled']);
  const { policy } = readPolicy(profile.policy);
  const checked = await fetchResult(jobId, profile, policy, api);
  const write = (name: (typeof resultFiles)[number], bytes: Uint8Array): void => writeWhole(join(out, name), bytes);
  if (!isNet(checked.manifest)) write('model.onnx', floatOnnx(checked.manifest, checked.weights));
  write('weights.bin', encodeWeights(checked.weights));
  write('manifest.json', canonicalManifest(checked.manifest));
  write('job.vtb', await fetchBundle(jobId, profile, policy, api));
  return checked;
}
