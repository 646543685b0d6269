/** Folders of a plan and of a trained model, and what is in them. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { concatBytes, equalBytes, Rejection } from '#attestation/base';
import { finishTogether, makeFolder, readBytes, readJson, writeTogether, writeWhole } from '#libs/client/files';
import { onnxBytesMax, originOf, type Origin } from '#libs/models';
import {
  canonicalHeader,
  canonicalManifest,
  checkParameters,
  decodeTensors,
  encodeWeights,
  parameterBytes,
  parameterShapes,
  parseDataHeader,
  parseNetManifest,
  type DataHeader,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { usage, type DataOptions } from './data.js';
import { exportNames, ownExports } from './own-exports.js';

/** What a plan has beside its manifest. */
interface PlanFile {
  readonly plan: object;
  readonly why: readonly string[];
  /** How the data is read. */
  readonly data: DataOptions;
}

const names = { manifest: 'manifest.json', plan: 'plan.json', header: 'header.json', weights: 'weights.bin' };
export const tokenizerName = 'tokenizer.json';
export const startName = 'start.bin';
const deliveredName = 'model.onnx';
/** Of all parameters of a model. */
export const weightsBytesMax = 2 ** 31;

/** Ends what a command broke off that was ended while it wrote a model there. @throws ConfigurationError FILE_* */
export function finishModel(folder: string): void {
  const at = (name: string): string => join(folder, name);
  finishTogether([names.manifest, names.header, tokenizerName, names.weights].map(at), exportNames.map(at));
}

/** Makes the folder of a plan, before the work for it begins. @throws ConfigurationError USAGE where a trained model is */
export function makePlanFolder(folder: string): void {
  makeFolder(folder);
  finishModel(folder);
  const weights = join(folder, names.weights);
  if (existsSync(weights)) throw usage('--out without a trained model, whose manifest would be replaced', weights);
}

/** @returns whether one stood there before; what the new one does not have of it is gone */
export function writePlan(folder: string, manifest: NetManifest, header: DataHeader, plan: PlanFile): boolean {
  const isReplaced = existsSync(join(folder, names.manifest)) && existsSync(join(folder, names.plan));
  if (isReplaced) for (const name of [startName, tokenizerName]) rmSync(join(folder, name), { force: true });
  writeWhole(join(folder, names.manifest), canonicalManifest(manifest));
  writeHeader(folder, header);
  writeWhole(join(folder, names.plan), `${JSON.stringify(plan, null, 2)}\n`);
  return isReplaced;
}

export function writeHeader(folder: string, header: DataHeader): void {
  writeWhole(join(folder, names.header), canonicalHeader(header));
}

/** The plan beside a manifest; nothing where it was written by hand. */
export function dataBeside(manifestPath: string): DataOptions {
  const path = join(dirname(manifestPath), names.plan);
  return existsSync(path) ? ((readJson(path) as PlanFile).data ?? {}) : {};
}

/** What the weights that a manifest starts from were made for; nothing where it draws its own, or no header is beside it. */
export function startHeader(manifestPath: string, { start }: Pick<NetManifest, 'start'>): DataHeader | undefined {
  const path = join(dirname(manifestPath), names.header);
  return start.kind === 'weights' && existsSync(path) ? parseDataHeader(readJson(path)) : undefined;
}

export interface ModelFolder {
  readonly manifest: NetManifest;
  readonly header: DataHeader;
  /** All of them, frozen ones too. */
  readonly parameters: Weights;
  readonly tokenizer?: Uint8Array;
}

/**
 * Makes the folder of a trained model, before the work for it begins. The result of a job stays whole: beside other weights
 * its model.onnx and its evidence would speak of what is not there. A model of the same manifest is trained again in its
 * place; of another nobody may have the manifest any more. A plan is somebody's order to come, and says how data are read
 * for the manifest beside it alone.
 *
 * @param replaces a model of another manifest too, as the user asks for
 * @throws ConfigurationError USAGE where the result of a job, the plan of another manifest or a model of one is
 */
export function makeModelFolder(folder: string, manifest: NetManifest, replaces = false): void {
  makeFolder(folder);
  finishModel(folder);
  const bundle = join(folder, 'job.vtb');
  const result = existsSync(bundle) ? bundle : originBeside(folder, '--out') && join(folder, deliveredName);
  if (result !== null) throw usage('--out without the result of a job, whose weights would be replaced', result);
  if (isOf(folder, manifest)) return;
  const [plan, weights] = [names.plan, names.weights].map((name) => join(folder, name)) as [string, string];
  if (existsSync(plan)) {
    throw usage(
      '--out without the plan of another manifest, which stays beside --replace too',
      plan,
      'name another folder',
    );
  }
  if (replaces || !existsSync(weights)) return;
  throw usage('--out without the trained model of another plan, which only --replace has replaced', weights);
}

/** Of manifest, header and what else stands beside the weights, about. */
const othersBytes = 2 ** 20;

/** What writing a model takes, beside a former one, which stays until the new one is whole. */
export function modelBytes(manifest: NetManifest): number {
  return parameterBytes(manifest) + othersBytes;
}

function isOf(folder: string, manifest: NetManifest): boolean {
  const path = join(folder, names.manifest);
  return existsSync(path) && equalBytes(readFileSync(path), canonicalManifest(manifest));
}

/**
 * Makes the folder that the result of a job goes to; the same result may be fetched again.
 *
 * @param jobId 0x-hexadecimal
 * @throws ConfigurationError USAGE where another model is, or a model.onnx of which nobody can tell whose it is
 */
export function makeResultFolder(folder: string, jobId: string): void {
  makeFolder(folder);
  finishModel(folder);
  const other = [names.weights, deliveredName].map((name) => join(folder, name)).find(existsSync);
  if (other === undefined || originBeside(folder, '--out')?.jobId === jobId.slice(2)) return;
  throw usage('--out without another model, which would be replaced', other);
}

/**
 * What the delivered file beside the weights says.
 *
 * @param option that names the folder
 * @throws ConfigurationError USAGE where the file is none of ONNX, so that nobody can tell
 */
export function originBeside(folder: string, option: '--model' | '--out'): Origin | null {
  const delivered = join(folder, deliveredName);
  if (!existsSync(delivered)) return null;
  try {
    return originOf(readBytes(delivered, onnxBytesMax));
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw usage(
      `${option} without a ${deliveredName} that is none (${error.code}): remove it, or name another folder`,
      delivered,
    );
  }
}

/**
 * All of it or nothing: where it cannot be written, the former model is as it was. Weights go first and come last: what an end
 * in between leaves is no model until `finishModel`.
 *
 * @returns names of the files that `model export` made of the former weights, which go with them
 * @throws ConfigurationError FILE_UNWRITABLE
 */
export function writeModel(
  folder: string,
  { manifest, header, parameters, tokenizer }: ModelFolder,
): readonly string[] {
  checkParameters(manifest, parameters);
  finishModel(folder);
  const at = (name: string): string => join(folder, name);
  const isReplaced = existsSync(at(names.weights));
  const dropped = isReplaced ? ownExports(folder) : [];
  const gone = [...dropped, ...(isReplaced && tokenizer === undefined ? [tokenizerName] : [])];
  const files = [
    [at(names.manifest), canonicalManifest(manifest)],
    [at(names.header), canonicalHeader(header)],
    ...(tokenizer === undefined ? [] : [[at(tokenizerName), tokenizer] as const]),
    [at(names.weights), encodeWeights(parameters)],
  ] as const;
  writeTogether(files, gone.map(at));
  return dropped;
}

/** @throws ConfigurationError FILE_*; Rejection MANIFEST_*, HEADER_*, WEIGHTS_* */
export function readModel(folder: string): ModelFolder {
  finishModel(folder);
  const manifest = parseNetManifest(readJson(join(folder, names.manifest)));
  const header = parseDataHeader(readJson(join(folder, names.header)));
  const weights = join(folder, names.weights);
  const bytes = readBytes(weights, weightsBytesMax);
  const size = parameterBytes(manifest);
  if (bytes.length !== size) {
    throw new Rejection('WEIGHTS_LENGTH', {
      expected: `${size} bytes in ${weights}, as the manifest beside it has parameters`,
      got: String(bytes.length),
      rule: 'libs/step/SPEC.md §11',
      action: 'the folder of a model belongs together: copy all of it from where it was made',
    });
  }
  const parameters = parametersFrom(manifest, bytes);
  const path = join(folder, tokenizerName);
  return { manifest, header, parameters, ...(existsSync(path) && { tokenizer: readFileSync(path) }) };
}

/** Canonical bytes of all parameters in layer order. @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE */
export function parametersFrom(m: NetManifest, bytes: Uint8Array): Weights {
  const parameters = decodeTensors(parameterShapes(m), concatBytes(bytes));
  checkParameters(m, parameters);
  return parameters;
}
