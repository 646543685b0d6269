/**
 * Data of a vector file (libs/step/SPEC.md §30): the images that a package ships, or records drawn from the manifest's
 * seed; in shuffled order, as a data owner commits to them.
 */
import { Rejection } from '#attestation/base';
import { below, netOf, shuffledIndices, wordStream, type NetExamples, type NetManifest, sizeOf } from '#libs/step';

/** Features and labels in file order. */
interface Drawn {
  readonly count: number;
  readonly features: NetExamples['features'];
  readonly labels: Int32Array;
}

/** What of a vector file names its data. */
export interface VectorData {
  readonly kind: string;
  readonly n?: number;
  readonly vocab?: number;
  readonly out?: number;
  readonly binary?: boolean;
}

/** A training set of images: all pixels, and a label each. */
export type ImageSet = (kind: 'mnist' | 'fashion') => { readonly data: Uint8Array; readonly labels: Uint8Array };

const recordsMax = 1 << 20;

/** @param images asked for where the vector trains on them */
export function vectorExamples(m: NetManifest, data: VectorData, images: ImageSet): NetExamples {
  const drawn = draw(m, data, images);
  const order = shuffledIndices(m.seed, drawn.count);
  const { features, labels } = drawn;
  const [width, own] = [features.length / drawn.count, labels.length / drawn.count];
  const shuffled = features.slice();
  const moved = labels.slice();
  order.forEach((from, to) => {
    shuffled.set(features.subarray(from * width, (from + 1) * width), to * width);
    moved.set(labels.subarray(from * own, (from + 1) * own), to * own);
  });
  return { count: drawn.count, features: shuffled, labels: moved };
}

function draw(
  m: NetManifest,
  { kind, n = 0, vocab = 2, out = 0, binary = false }: VectorData,
  images: ImageSet,
): Drawn {
  if (kind === 'mnist' || kind === 'fashion') {
    const { data, labels } = images(kind);
    return { count: labels.length, features: new Uint8Array(data), labels: Int32Array.from(labels) };
  }
  const size = sizeOf(m.input.shape);
  if (!Number.isSafeInteger(n) || n < 1 || n * (size + out + 1) > recordsMax) throw unknown(`n ${n}`);
  const word = wordStream('fxt/test/v1', m.seed);
  if (kind === 'tokens') {
    const at = (i: number, t: number): number => Number(below(word(i * (size + 1) + t), BigInt(vocab)));
    return {
      count: n,
      features: Int32Array.from({ length: n * size }, (_, j) => at(Math.floor(j / size), j % size)),
      labels:
        netOf(m).labels.kind === 'tokens'
          ? Int32Array.from({ length: n * size }, (_, j) => at(Math.floor(j / size), (j % size) + 1))
          : Int32Array.from({ length: n }, (_, i) => at(i, size)),
    };
  }
  if (kind !== 'table') throw unknown(kind);
  const place = (i: number, t: number): bigint => word(i * (size + out) + t);
  return {
    count: n,
    features: Int16Array.from({ length: n * size }, (_, j) => {
      return Number(below(place(Math.floor(j / size), j % size), 8192n)) - 4096;
    }),
    labels: Int32Array.from({ length: n * out }, (_, j) => {
      const drawn = place(Math.floor(j / out), size + (j % out));
      return binary ? Number(drawn >> 63n) : Number(below(drawn, 1024n)) - 512;
    }),
  };
}

function unknown(got: string): Rejection {
  return new Rejection('VECTOR_DATA', {
    expected: 'data of kind mnist, fashion, tokens or table, with n records of moderate size',
    got,
    rule: 'libs/step/SPEC.md §30',
    action: 'mend the member data of the file',
  });
}
