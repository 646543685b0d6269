/** Examples as records of layout 2, as the engine reads them from a file (libs/step/DATA.md §2). */
import { netOf, netRecordLayout, type NetExamples, type NetManifest, sizeOf } from '#libs/step';

/** Inverse of `splitNetRecords`. */
export function joinNetRecords(m: NetManifest, { count, features, labels }: NetExamples): Uint8Array {
  const { recordBytes, features: width, featureSize, featureBytes } = netRecordLayout(m);
  const { kind, shape, below = 0 } = netOf(m).labels;
  const own = sizeOf(shape);
  const records = new Uint8Array(count * recordBytes);
  const view = new DataView(records.buffer);
  const put = (at: number, value: number, size: number): void => {
    if (size === 1) view.setUint8(at, value);
    else if (size === 2) view.setUint16(at, value & 0xffff, true);
    else view.setInt32(at, value, true);
  };
  const labelSize = { class: below > 256 ? 2 : 1, vector: 1, real: 4, tokens: featureSize }[kind];
  for (let i = 0; i < count; i++) {
    const at = i * recordBytes;
    for (let j = 0; j < width; j++) put(at + j * featureSize, features[i * width + j]!, featureSize);
    // Tokens: the label is the features moved on by one, so only its last is new.
    const first = kind === 'tokens' ? own - 1 : 0;
    for (let j = first; j < own; j++) put(at + featureBytes + (j - first) * labelSize, labels[i * own + j]!, labelSize);
  }
  return records;
}
