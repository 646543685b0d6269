/** A result as files: the model, its integers, the manifest and the evidence. */
import { join } from 'node:path';
import { exportOnnx, withOrigin } from '#libs/models';
import { startParameters } from '#libs/review';
import {
  canonicalHeader,
  canonicalManifest,
  encodeWeights,
  floatOnnx,
  frozenOf,
  isNet,
  parametersOf,
} from '#libs/step';
import type { ControlPlaneApi, ServerEvent } from '../api.js';
import { makeFolder, writeWhole } from '../files.js';
import { readPolicy } from '../policy.js';
import type { Profile } from '../profile.js';
import { followJob } from './follow.js';
import { ownReading, tokenizerName, type Reading } from './reading.js';
import { fetchBundle, fetchResult, type CheckedResult } from './result.js';

interface TakenResult extends CheckedResult {
  /** Names of what was written. */
  readonly files: readonly string[];
}

/**
 * Follows the job, verifies its evidence under the profile's policy, acknowledges, decrypts, and writes model.onnx,
 * weights.bin, manifest.json and job.vtb; of a net besides header.json and, of text, tokenizer.json, as far as the profile
 * has them: what new data is read with.
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
): Promise<TakenResult> {
  makeFolder(out);
  await followJob(jobId, api, onEvent, ['delivered', 'settled']);
  const { policy } = readPolicy(profile.policy);
  const checked = await fetchResult(jobId, profile, policy, api);
  const bundle = await fetchBundle(jobId, profile, policy, api);
  const { 'model.onnx': onnx, ...others } = modelFiles(checked, ownReading(profile, jobId));
  const files: Readonly<Record<string, Uint8Array | string>> = {
    'model.onnx': withOrigin(onnx, { jobId: checked.verdict.jobId, weights: checked.weightsDigest }),
    ...others,
    'manifest.json': canonicalManifest(checked.manifest),
    'job.vtb': bundle,
  };
  for (const [name, bytes] of Object.entries(files)) writeWhole(join(out, name), bytes);
  return { ...checked, files: Object.keys(files) };
}

/** Of a net all parameters, without what its optimizer keeps. */
function modelFiles(
  { manifest: m, weights }: CheckedResult,
  reading: Reading | null,
): Record<string, Uint8Array | string> & { readonly 'model.onnx': Uint8Array } {
  if (!isNet(m)) return { 'model.onnx': floatOnnx(m, weights), 'weights.bin': encodeWeights(weights) };
  const { header, tokenizer, start = null } = reading ?? {};
  const parameters = parametersOf(m, weights, frozenOf(m, startParameters(m, start)));
  return {
    'model.onnx': exportOnnx(m, parameters, { ...(header !== undefined && { header }) }),
    'weights.bin': encodeWeights(parameters),
    ...(header !== undefined && { 'header.json': canonicalHeader(header) }),
    ...(tokenizer !== undefined && { [tokenizerName]: tokenizer }),
  };
}
