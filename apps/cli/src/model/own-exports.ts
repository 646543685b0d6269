/** Files that `model export` wrote into the folder of the model itself: with other weights they speak of what is not there. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Rejection } from '#attestation/base';
import {
  interfaceName,
  isOwnInterface,
  isOwnOnnx,
  isOwnSafetensors,
  onnxBytesMax,
  safetensorsHeadMax,
} from '#libs/models';

interface Export {
  readonly name: string;
  /** Of bytes that are read, from the first. */
  readonly bytesMax: number;
  isOwn(head: Uint8Array): boolean;
}

const interfaceBytesMax = 64 * 1024 * 1024;

const exports: readonly Export[] = [
  { name: 'model.onnx', bytesMax: onnxBytesMax, isOwn: isOwnOnnx },
  { name: 'model.safetensors', bytesMax: safetensorsHeadMax, isOwn: isOwnSafetensors },
  { name: interfaceName, bytesMax: interfaceBytesMax, isOwn: isOwnInterface },
];

export const exportNames: readonly string[] = exports.map(({ name }) => name);

/** Names of them, without what anybody else wrote and what leads to the evidence of a job. */
export function ownExports(folder: string): readonly string[] {
  const own = exports.filter(({ name, bytesMax, isOwn }) => {
    const path = join(folder, name);
    return existsSync(path) && statSync(path).isFile() && holds(isOwn, headOf(path, bytesMax));
  });
  return own.map(({ name }) => name);
}

function holds(isOwn: Export['isOwn'], head: Uint8Array): boolean {
  try {
    return isOwn(head);
  } catch (error) {
    if (error instanceof Rejection) return false;
    throw error;
  }
}

function headOf(path: string, bytesMax: number): Uint8Array {
  if (statSync(path).size <= bytesMax) return readFileSync(path);
  const file = openSync(path, 'r');
  try {
    const head = new Uint8Array(bytesMax);
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}
