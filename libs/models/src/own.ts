/** Whether a file is one that the exports of this library write, and not another's of the same name. */
import { fromUtf8 } from '#attestation/base';
import { exactName } from './export.js';
import { safetensorsHeaderBytesMax } from './limits.js';
import { decodeModel } from './onnx/decode.js';
import { ownProducer } from './onnx/taken.js';
import { originOf } from './origin.js';
import { headerOf } from './safetensors.js';

/** Bytes from the first that tell of a safetensors file what it is. */
export const safetensorsHeadMax = 8 + safetensorsHeaderBytesMax;

/** One that leads to the evidence of a job is none. @throws Rejection as `importOnnx` does of a file that is none */
export function isOwnOnnx(onnx: Uint8Array): boolean {
  return decodeModel(onnx).producer === ownProducer && originOf(onnx) === null;
}

/** @param head the whole file, or its first `safetensorsHeadMax` bytes @throws Rejection SAFETENSORS_LIMIT, SAFETENSORS_HEADER */
export function isOwnSafetensors(head: Uint8Array): boolean {
  return Object.hasOwn(headerOf(head).members, exactName);
}

/** @param text UTF-8 of the file */
export function isOwnInterface(text: Uint8Array): boolean {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(text));
  } catch {
    return false;
  }
  const { input, output } = (value ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  return input?.['name'] === 'features' && 'give' in input && output?.['name'] === 'output' && 'read' in output;
}
