/** Mutates safetensors files: an error that has a code, or the tensors that the header says. */
import { concatBytes, fromUtf8, toHex, utf8 } from '#attestation/base';
import { readSafetensors, writeSafetensors } from '#libs/models';
import { exportedFile } from '#test/onnx-files';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import type { Draw } from './random.js';

type Read = typeof readSafetensors;

function files(): readonly Uint8Array[] {
  const exact = { name: 'veritrain.exact', dims: [2, 2], values: BigInt64Array.of(1n, -(2n ** 40n), 3n, 2n ** 62n) };
  const real = { name: 'n0.W', dims: [2, 3], values: Float32Array.of(1, -2, 0.5, 4, 5, 6) };
  return [
    exportedFile('torch-small.safetensors'),
    exportedFile('torch-small-16.safetensors'),
    writeSafetensors([real, exact]),
  ];
}

const headerLength = (bytes: Uint8Array): number =>
  Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));

const numbers = [0, 1, 2, 4, 8, -1, 0.5, 2 ** 31, 2 ** 53, 1e300];

/** One number or word of the header changed, its length made right again. */
function headerMutant(bytes: Uint8Array, draw: Draw): Uint8Array {
  const length = headerLength(bytes);
  const text = fromUtf8(bytes.subarray(8, 8 + length));
  const places = [...text.matchAll(/\d+|"[^"]*"/g)];
  const { 0: found, index } = places[draw(places.length)]!;
  const words = [found, 'null', '[]', '{}', '"F32"', '"I64"', '"shape"', ...numbers.map(String)];
  const changed = text.slice(0, index) + words[draw(words.length)]! + text.slice(index + found.length);
  const header = utf8(changed);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
  return concatBytes(size, header, bytes.subarray(8 + length));
}

/** @param read what reads a file */
export async function fuzzSafetensors(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  read: Read = readSafetensors,
): Promise<FuzzReport> {
  const genuine = files();
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const bytes = genuine[draw(genuine.length)]!;
    const mutant = k % 2 === 0 ? headerMutant(bytes, draw) : mutantOf(bytes, draw, genuine[draw(genuine.length)]!);
    const accept = (tensors: ReturnType<Read>): Verdict => (isAsTold(mutant, tensors) ? 'taken' : 'accepted');
    return { target: 'safetensors', input: () => toHex(mutant), run: () => judged(() => read(mutant), accept) };
  };
  return fuzz(count, seed, trialOf, onProgress);
}

const widths: Readonly<Record<string, number>> = { BF16: 2, F16: 2, F32: 4, F64: 8, I64: 8 };

/** Whether each tensor has the name, shape and first element that its entry says, and all bytes belong to one. */
function isAsTold(bytes: Uint8Array, tensors: ReturnType<Read>): boolean {
  const length = headerLength(bytes);
  const { __metadata__: _, ...header } = JSON.parse(fromUtf8(bytes.subarray(8, 8 + length))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const view = new DataView(bytes.buffer, bytes.byteOffset + 8 + length);
  const isEach = tensors.every(({ name, dims, values }) => {
    const {
      dtype,
      shape,
      data_offsets: [from, to],
    } = header[name]!;
    const isSized =
      String(shape) === String(dims) && to - from === values.length * widths[dtype]! && to <= view.byteLength;
    if (values.length === 0 || (dtype !== 'F32' && dtype !== 'I64')) return isSized;
    const first = dtype === 'F32' ? view.getFloat32(from, true) : view.getBigInt64(from, true);
    return isSized && Object.is(first, values[0]);
  });
  return isEach && tensors.length === Object.keys(header).length;
}
