/** What a file takes, where it tells by itself. */
import { decodeModel } from './decode.js';

/** What `exportOnnx` writes as the producer of a file (libs/step/src/onnx/graph-builder.ts). */
export const ownProducer = 'veritrain';

/** TensorProto.DataType. */
const [float32, uint8] = [1, 2];
/** Of an own file int32 too, as wide integers and tokens are exported. */
const wholeTypes: readonly (number | undefined)[] = [uint8, 3, 5, 6];

interface Taken {
  readonly what: 'numbers' | 'integers';
  readonly answers: 'scaled' | 'raw';
  readonly isOwn: boolean;
}

/**
 * `numbers`: the user's own. `integers`: those of the data set, as an own file takes them that was exported so; tokens too.
 * `answers`: whether numbers are in the label's own unit; an own file that was exported without it ends as a net does.
 * @throws Rejection as `importOnnx` does of a file that is none
 */
export function takenBy(bytes: Uint8Array): Taken | null {
  const { producer, inputs, nodes, outputs } = decodeModel(bytes);
  const type = inputs[0]?.type;
  const isOwn = producer === ownProducer;
  const last = nodes.find((node) => node.outputs.includes(outputs[0]?.name ?? ''));
  const answers = isOwn && last?.op === 'Clip' ? 'scaled' : 'raw';
  if (isOwn && wholeTypes.includes(type)) return { what: 'integers', answers, isOwn };
  return (isOwn && type === float32) || type === uint8 ? { what: 'numbers', answers, isOwn } : null;
}
