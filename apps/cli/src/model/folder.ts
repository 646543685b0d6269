/** Folders of a plan and of a trained model, and what is in them. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { concatBytes } from '#attestation/base';
import { readBytes, readJson, writeWhole } from '#libs/client';
import {
  canonicalHeader,
  canonicalManifest,
  checkParameters,
  decodeTensors,
  encodeWeights,
  parameterShapes,
  parseDataHeader,
  parseNetManifest,
  type DataHeader,
  type NetManifest,
  type Weights,
} from '#libs/step';
import type { DataOptions } from './data.js';

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
/** Of all parameters of a model. */
export const weightsBytesMax = 2 ** 31;

export function writePlan(folder: string, manifest: NetManifest, header: DataHeader, plan: PlanFile): void {
  writeWhole(join(folder, names.manifest), canonicalManifest(manifest));
  writeWhole(join(folder, names.header), canonicalHeader(header));
  writeWhole(join(folder, names.plan), `${JSON.stringify(plan, null, 2)}\n`);
}

/** The plan beside a manifest; nothing where it was written by hand. */
export function dataBeside(manifestPath: string): DataOptions {
  const path = join(dirname(manifestPath), names.plan);
  return existsSync(path) ? ((readJson(path) as PlanFile).data ?? {}) : {};
}

export interface ModelFolder {
  readonly manifest: NetManifest;
  readonly header: DataHeader;
  /** All of them, frozen ones too. */
  readonly parameters: Weights;
  readonly tokenizer?: Uint8Array;
}

export function writeModel(folder: string, { manifest, header, parameters, tokenizer }: ModelFolder): void {
  checkParameters(manifest, parameters);
  writeWhole(join(folder, names.manifest), canonicalManifest(manifest));
  writeWhole(join(folder, names.header), canonicalHeader(header));
  writeWhole(join(folder, names.weights), encodeWeights(parameters));
  if (tokenizer !== undefined) writeWhole(join(folder, tokenizerName), tokenizer);
}

/** @throws ConfigurationError FILE_*; Rejection MANIFEST_*, HEADER_*, WEIGHTS_* */
export function readModel(folder: string): ModelFolder {
  const manifest = parseNetManifest(readJson(join(folder, names.manifest)));
  const header = parseDataHeader(readJson(join(folder, names.header)));
  const parameters = parametersFrom(manifest, readBytes(join(folder, names.weights), weightsBytesMax));
  const path = join(folder, tokenizerName);
  return { manifest, header, parameters, ...(existsSync(path) && { tokenizer: readFileSync(path) }) };
}

/** Canonical bytes of all parameters in layer order. @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE */
export function parametersFrom(m: NetManifest, bytes: Uint8Array): Weights {
  const parameters = decodeTensors(parameterShapes(m), concatBytes(bytes));
  checkParameters(m, parameters);
  return parameters;
}
