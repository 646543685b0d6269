/** The user's own numbers behind a net's: pixels of 0 to 255, columns and labels before they are centered and scaled. */
import { columnWidth, sizeOf, type DataHeader } from '#libs/step';

/** By element of a record or of an answer: the user's number is `value·scale + center`, `value` the net's real number. */
export interface OwnUnits {
  readonly center: Float64Array;
  readonly scale: Float64Array;
}

/** Of features. @returns undefined for tokens, and where the header's columns are not those of its features */
export function realInputs({ features, columns }: DataHeader): OwnUnits | undefined {
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

/** Of features: the integers themselves that the data set has. @returns undefined for tokens */
export function integerInputs({ features }: DataHeader): OwnUnits | undefined {
  if (features.dtype === 'tokens') return undefined;
  const size = sizeOf(features.shape);
  return { center: new Float64Array(size), scale: new Float64Array(size).fill(2 ** features.frac) };
}

interface LostColumn {
  readonly name: string;
  /** What float32 may be off by at the center: half of its step there. */
  readonly error: number;
  readonly scale: number;
}

/** Of a number's scale, what float32 may be off by: a step of the data set's integers, whose fraction is 12 bits. */
const errorShareMax = 2 ** -12;

/** Columns of numbers so far from 0 for their spread that float32 does not hold what tells their rows apart. */
export function lostInFloat32({ columns }: Pick<DataHeader, 'columns'>): readonly LostColumn[] {
  return columns.flatMap((column) => {
    if (column.kind !== 'number') return [];
    const { name, center, scale } = column;
    const error = Math.abs(center) * 2 ** -24;
    return error / scale > errorShareMax ? [{ name, error, scale }] : [];
  });
}

/** Of answers. @returns undefined where the label is no number, or nothing is known of its columns */
export function realOutputs({ label }: Pick<DataHeader, 'label'>): OwnUnits | undefined {
  if (label.kind !== 'real' || label.columns.length === 0) return undefined;
  const each = label.columns.flatMap((column) => {
    const { center, scale } = column.kind === 'number' ? column : { center: 0, scale: 1 };
    return Array.from({ length: columnWidth(column) ?? 1 }, () => ({ center, scale }));
  });
  return {
    center: Float64Array.from(each, ({ center }) => center),
    scale: Float64Array.from(each, ({ scale }) => scale),
  };
}

/** @param outputs real numbers of whole answers @returns them in the label's own unit; as they are without `units` */
export function inOwnUnits(outputs: Float64Array, units: OwnUnits | undefined): Float64Array {
  if (units === undefined) return outputs;
  const { center, scale } = units;
  return outputs.map((value, i) => value * scale[i % scale.length]! + center[i % scale.length]!);
}
