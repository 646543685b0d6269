/** What a file takes, where it tells by itself. */
import { decodeModel } from './decode.js';

/** What `exportOnnx` writes as the producer of a file (libs/step/src/onnx/graph-builder.ts). */
export const ownProducer = 'veritrain';

/** TensorProto.DataType. */
const [float32, uint8] = [1, 2];
const wholeTypes: readonly (number | undefined)[] = [uint8, 3, 5];

/**
 * `numbers`: the user's own. `integers`: those of the data set, as an own file takes them that was exported so.
 * @throws Rejection as `importOnnx` does of a file that is none
 */
export function takenBy(bytes: Uint8Array): { readonly what: 'numbers' | 'integers'; readonly isOwn: boolean } | null {
  const { producer, inputs } = decodeModel(bytes);
  const type = inputs[0]?.type;
  const isOwn = producer === ownProducer;
  if (isOwn && wholeTypes.includes(type)) return { what: 'integers', isOwn };
  return (isOwn && type === float32) || type === uint8 ? { what: 'numbers', isOwn } : null;
}
