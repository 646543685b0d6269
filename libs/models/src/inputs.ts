/** The user's own numbers behind a net's features: pixels of 0 to 255, columns before they are centered and scaled. */
import { columnWidth, sizeOf, type DataHeader } from '#libs/step';

/** By feature of a record: its number is `value·scale + center`, where `value` is the feature's real number. */
export interface RealInputs {
  readonly center: Float64Array;
  readonly scale: Float64Array;
}

/** @returns undefined for tokens, and where the header's columns are not those of its features */
export function realInputs({ features, columns }: DataHeader): RealInputs | undefined {
  if (features.dtype === 'tokens') return undefined;
  const size = sizeOf(features.shape);
  const [center, scale] = [new Float64Array(size), new Float64Array(size).fill(1)];
  const whole = 2 ** features.frac;
  if (columns.length === 0) return { center, scale: scale.fill(whole) };
  let at = 0;
  for (const column of columns) {
    const width = columnWidth(column) ?? size;
    if (column.kind === 'integer' || column.kind === 'image') scale.fill(whole, at, at + width);
    if (column.kind === 'number') {
      center.fill(column.center, at, at + width);
      scale.fill(column.scale, at, at + width);
    }
    at += width;
  }
  return at === size ? { center, scale } : undefined;
}
