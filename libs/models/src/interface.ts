/** What an exported ONNX model takes and answers with, for programs that run it and for people. */
import { columnWidth, netOf, realEnds, sizeOf, type Column, type DataHeader, type NetManifest } from '#libs/step';
import { realOutputs } from './units.js';

interface TakenColumn {
  readonly name: string;
  readonly kind: Column['kind'];
  /** Places among the elements of a record, row-major. */
  readonly from: number;
  readonly count: number;
  /** Of a category or flag, in the order of their places. */
  readonly values?: readonly string[];
  readonly center?: number;
  readonly scale?: number;
  /** Of a number, in its own unit: one beyond is taken as the nearest. */
  readonly range?: Range;
  readonly give: string;
}

type Range = readonly [low: number, high: number];

interface AnswerColumn {
  readonly name: string;
  readonly values?: readonly string[];
  readonly center?: number;
  readonly scale?: number;
  /** Of a number, in its own unit: no answer is beyond. */
  readonly range?: Range;
}

interface Port {
  readonly name: string;
  readonly type: string;
  /** The first is the number of rows, which is free. */
  readonly shape: readonly (string | number)[];
}

/** JSON beside an exported file. */
export interface ModelInterface {
  /** `columns` is empty where nothing is known of them. */
  readonly input: Port & { readonly give: string; readonly columns: readonly TakenColumn[] };
  readonly output: Port & {
    /** `own`: the label's own unit. `scores`: numbers to compare. `data`: as the data set has the label. */
    readonly unit: 'own' | 'scores' | 'data';
    readonly read: string;
    /** Of scores, and of numbers as the data set has them: none is beyond. */
    readonly range?: Range;
    readonly columns: readonly AnswerColumn[];
  };
}

export const interfaceName = 'interface.json';

/** The file beside an exported one. */
export function interfaceText(ends: ModelInterface): string {
  return `${JSON.stringify(ends, null, 2)}\n`;
}

/** @param takesIntegers as given to `exportOnnx` */
export function interfaceOf(m: NetManifest, header: DataHeader, takesIntegers = false): ModelInterface {
  const { features } = header;
  const takesReal = takesOwnNumbers(header, takesIntegers);
  const one = takesReal || features.dtype === 'tokens' ? 1 : 2 ** features.frac;
  let at = 0;
  const columns = header.columns.map((column): TakenColumn => {
    const from = at;
    const count = columnWidth(column) ?? sizeOf(features.shape);
    at += count;
    const { name, kind } = column;
    const detail = detailOf(column, features.dtype === 'tokens' ? 0 : features.frac);
    return { name, kind, from, count, ...detail, give: giveWords(column, takesReal, one) };
  });
  const type = takesReal ? 'float32' : features.dtype === 'tokens' ? 'int32' : features.dtype;
  const { shape, a } = netOf(m).output;
  const read = answerOf(header, a);
  return {
    input: {
      ...{ name: 'features', type, shape: ['rows', ...m.input.shape] },
      give: inputWords(header, takesReal),
      columns,
    },
    output: { name: 'output', type: 'float32', shape: ['rows', ...shape], ...read },
  };
}

/** Whether the ONNX model of a table takes the user's numbers in place of the data set's integers. */
export function takesOwnNumbers({ columns }: DataHeader, takesIntegers: boolean): boolean {
  return !takesIntegers && columns.some(({ kind }) => kind === 'number');
}

function inputWords({ features, columns }: DataHeader, takesReal: boolean): string {
  if (features.dtype === 'tokens') return 'tokens';
  if (takesReal) return "columns as the user's own numbers, categories as 0 and 1";
  if (columns[0]?.kind === 'image') return 'pixels from 0 to 255, channels last';
  return 'as the data set has them';
}

function giveWords({ kind }: Column, takesReal: boolean, one: number): string {
  switch (kind) {
    case 'number':
      return takesReal
        ? 'the number as it is, beyond its range the nearest end; its center where it is missing'
        : `floor((number - center)/scale*${one} + 1/2) within 16 bits; 0 where it is missing`;
    case 'missing':
      return `${one} where the number before it is missing, else 0`;
    case 'category':
      return `${one} at the place of the value, 0 at the others; all 0 for another value`;
    case 'flag':
      return `0 for the first value, ${one} for the second`;
    case 'integer':
      return 'the integer as it is';
    case 'image':
      return 'pixels from 0 to 255, channels last';
    case 'text':
      return 'tokens of tokenizer.json';
  }
}

function detailOf(column: Column, fraction: number): Pick<TakenColumn, 'values' | 'center' | 'scale' | 'range'> {
  if (column.kind === 'category' || column.kind === 'flag') return { values: column.values };
  if (column.kind !== 'number') return {};
  const { center, scale } = column;
  const [low, high] = realEnds(fraction);
  return { center, scale, range: [low * scale + center, high * scale + center] };
}

function answerOf(header: DataHeader, a: number): Omit<ModelInterface['output'], keyof Port> {
  const { label } = header;
  const range = realEnds(a);
  if (label.kind === 'tokens') {
    const read = 'scores of the next token at each place; the largest is the likeliest';
    return { unit: 'scores', read, range, columns: [] };
  }
  const columns = label.columns.map((column) => ({ name: column.name, ...detailOf(column, a) }));
  if (label.kind === 'class') {
    return { unit: 'scores', read: 'a score for each class; the largest is the answer', range, columns };
  }
  if (label.kind === 'vector') {
    const read = 'a score for each label; above 0 it is set, of a category the largest';
    return { unit: 'scores', read, range, columns };
  }
  if (realOutputs(header) === undefined) {
    return { unit: 'data', read: 'numbers as the data set has them', range, columns };
  }
  return { unit: 'own', read: `${columns.map(({ name }) => name).join(', ')} in the label's own unit`, columns };
}
