/** The digest in an exported ONNX file that leads back to the evidence bundle of its training. */
import { withMetadata } from '#libs/step';
import { FieldCount, nameOf, wireFields } from './onnx/wire.js';

export interface Origin {
  readonly jobId: string;
  /** Commitment to the delivered weights, as the bundle's verdict names it; hexadecimal. */
  readonly weights: string;
}

const names = { jobId: 'veritrain.job', weights: 'veritrain.weights' };
/** ModelProto.metadata_props. */
const metadataField = 14;

export function withOrigin(onnx: Uint8Array, { jobId, weights }: Origin): Uint8Array {
  return withMetadata(onnx, { [names.jobId]: jobId, [names.weights]: weights });
}

/** What the file says of itself; null where it says nothing. @throws Rejection ONNX_MALFORMED, ONNX_LIMIT */
export function originOf(onnx: Uint8Array): Origin | null {
  const count = new FieldCount();
  const found = new Map<string, string>();
  for (const { number, bytes } of wireFields(onnx, count)) {
    if (number !== metadataField) continue;
    const [key, value] = [...wireFields(bytes, count)].map((field) => nameOf(field.bytes));
    if (key !== undefined && value !== undefined) found.set(key, value);
  }
  const [jobId, weights] = [found.get(names.jobId), found.get(names.weights)];
  return jobId === undefined || weights === undefined ? null : { jobId, weights };
}
