/**
 * Whether products of bytes are exact here (libs/step/SPEC.md §26). They are where the processor adds them to int32 at once;
 * older ones add pairs in 16 bits, which 255·127 + 255·127 leaves.
 */
import { encodeModel, GraphBuilder } from '#libs/step';
import { sessionOptions } from './net-tensors.js';
import { InferenceSession, Tensor } from './runtime.js';

let found: Promise<boolean> | undefined;

export function carriesBytes(): Promise<boolean> {
  return (found ??= isExact());
}

/** Sizes that fill no register, and then some. */
const [rows, terms, columns] = [37, 131, 67];
/** Beyond a byte, so that casts take them modulo 256: to 255, 0, 128, and to −128, 127, −1. */
const [lefts, rights] = [
  [255, 256, 65_408],
  [-128, 383, 511],
];

async function isExact(): Promise<boolean> {
  const session = await InferenceSession.create(model(), sessionOptions(1));
  try {
    const a = Float64Array.from({ length: rows * terms }, (_, i) => lefts[i < terms ? 0 : (i * i) % 3]!);
    const b = Float64Array.from(
      { length: terms * columns },
      (_, i) => rights[i % columns < 2 ? i % columns : (i * i) % 3]!,
    );
    const zeros = Int8Array.from({ length: columns }, (_, i) => (i % 5 === 4 ? -128 : 0));
    const { y } = await session.run({
      a: new Tensor('float64', a, [rows, terms]),
      b: new Tensor('float64', b, [terms, columns]),
      zeros: new Tensor('int8', zeros, [columns]),
    });
    const [left, right] = [Uint8Array.from(a), Int8Array.from(b)];
    return (y!.data as Int32Array).every((sum, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      let expected = 0;
      for (let k = 0; k < terms; k++) {
        expected += left[row * terms + k]! * (right[k * columns + column]! - zeros[column]!);
      }
      return sum === expected;
    });
  } finally {
    await session.release();
  }
}

function model(): Uint8Array {
  const graph = new GraphBuilder('b');
  const cast = (x: string, to: number) => graph.node('Cast', [x], { to: { int: to } });
  graph.node('MatMulInteger', [cast(cast('a', 6), 2), cast(cast('b', 6), 3), '', 'zeros'], {}, 'y');
  return encodeModel(
    graph.encode(
      'bytes',
      [
        { name: 'a', type: 'float64', dims: [rows, terms] },
        { name: 'b', type: 'float64', dims: [terms, columns] },
        { name: 'zeros', type: 'int8', dims: [columns] },
      ],
      [{ name: 'y', type: 'int32', dims: [rows, columns] }],
    ),
  );
}
