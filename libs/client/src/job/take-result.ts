/** A result as files: the model, its integers, the manifest and the evidence. */
import { join } from 'node:path';
import {
  exportOnnx,
  interfaceName,
  interfaceOf,
  interfaceText,
  metricsOf,
  overfitOf,
  readingOf,
  withOrigin,
  type Overfit,
} from '#libs/models';
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
import type { ControlPlaneApi, ServerEvent } from '../api/api.js';
import { makeFolder, writeWhole } from '../files/files.js';
import { readPolicy } from '../judging/policy.js';
import type { Profile } from '../api/profile.js';
import { followJob } from '../api/follow.js';
import { ownReading, tokenizerName, type Reading } from './reading.js';
import { fetchBundle, fetchResult, type CheckedResult } from './result.js';

interface TakenResult extends CheckedResult {
  /** Names of what was written. */
  readonly files: readonly string[];
  /** Signed figures of what is delivered; null where the manifest declares none. */
  readonly measured: SignedFigures | null;
  /** Of the signed figures those before the delivered ones were clearly better; null too where nobody knows how to read them. */
  readonly overfit: Overfit | null;
}

export interface SignedFigures {
  /** Step whose weights they are of. */
  readonly step: number;
  /** Rows of the validation set. */
  readonly records: number;
  /** Exact, with what a person reads: in the data's own units where the profile knows how it was read. */
  readonly metrics: readonly {
    readonly metric: string;
    readonly numerator: string;
    readonly denominator: string;
    readonly figure: string;
    /** Where the profile knows how the data was read: what the figure is called, and what 1 of the numerator is. */
    readonly name?: string;
    readonly scale?: number;
    /** Of the figure, where it is not the label's own. */
    readonly unit?: string;
  }[];
}

/**
 * Follows the job, verifies its evidence under the profile's policy, acknowledges, decrypts, and writes model.onnx,
 * weights.bin, manifest.json and job.vtb; of a net besides header.json and, of text, tokenizer.json, as far as the profile
 * has them: what new data is read with; and with a header interface.json, what model.onnx takes and answers with.
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
  const reading = ownReading(profile, jobId);
  const { 'model.onnx': onnx, ...others } = modelFiles(checked, reading);
  const files: Readonly<Record<string, Uint8Array | string>> = {
    'model.onnx': withOrigin(onnx, { jobId: checked.verdict.jobId, weights: checked.weightsDigest }),
    ...others,
    'manifest.json': canonicalManifest(checked.manifest),
    'job.vtb': bundle,
  };
  for (const [name, bytes] of Object.entries(files)) writeWhole(join(out, name), bytes);
  return {
    ...checked,
    files: Object.keys(files),
    measured: figuresOf(checked.verdict, reading),
    overfit: overfitIn(checked.verdict, reading),
  };
}

/** @param reading null where it is not known how the data was read: figures are in the statement's units then */
export function figuresOf(
  { evaluations }: Pick<CheckedResult['verdict'], 'evaluations'>,
  reading: Pick<Reading, 'header'> | null,
): SignedFigures | null {
  if (evaluations === null) return null;
  const { curve, deliveredStep: step, records } = evaluations;
  const metrics = curve
    .find((one) => one.step === step)!
    .metrics.map((one) => {
      const isKnown = reading !== null && metricsOf(reading.header).some(({ metric }) => metric === one.metric);
      if (!isKnown) return one;
      const { name, value, scale, unit } = readingOf(reading.header, one);
      const own = unit === undefined ? {} : { unit };
      return { ...one, ...own, name, scale, figure: `${name} ${Number(value.toPrecision(5))}` };
    });
  return { step, records, metrics };
}

/** Over the signed figures up to what is delivered, which under a rule `stop` is the best. */
export function overfitIn(
  { evaluations }: Pick<CheckedResult['verdict'], 'evaluations'>,
  reading: Pick<Reading, 'header'> | null,
): Overfit | null {
  if (evaluations === null || reading === null) return null;
  const { curve, deliveredStep } = evaluations;
  return overfitOf(
    reading.header,
    curve.filter(({ step }) => step <= deliveredStep),
  );
}

/** Of a net all parameters, without what its optimizer keeps. */
export function modelFiles(
  { manifest: m, weights }: Pick<CheckedResult, 'manifest' | 'weights'>,
  reading: Reading | null,
): Record<string, Uint8Array | string> & { readonly 'model.onnx': Uint8Array } {
  if (!isNet(m)) return { 'model.onnx': floatOnnx(m, weights), 'weights.bin': encodeWeights(weights) };
  const { header, tokenizer, start = null } = reading ?? {};
  const parameters = parametersOf(m, weights, frozenOf(m, startParameters(m, start)));
  return {
    'model.onnx': exportOnnx(m, parameters, { ...(header !== undefined && { header }) }),
    'weights.bin': encodeWeights(parameters),
    ...(header !== undefined && {
      'header.json': canonicalHeader(header),
      [interfaceName]: interfaceText(interfaceOf(m, header)),
    }),
    ...(tokenizer !== undefined && { [tokenizerName]: tokenizer }),
  };
}
