/** A model as other runtimes run it: the file that `model export` writes, on a user's own cells, beside the exact integers. */
import {
  Comparison,
  exportOnnx,
  inOwnUnits,
  lostInFloat32,
  realInputs,
  realOutputs,
  takesOwnNumbers,
  type Agreement,
  type AnswerKind,
  type OwnUnits,
} from '#libs/models';
import { elementTypeOf, InferenceSession, NetForward, Tensor } from '#libs/onnx';
import {
  columnWidth,
  netOf,
  sizeOf,
  type DataHeader,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';

export interface Part {
  readonly count: number;
  readonly features: NetExamples['features'];
  /** The same records as a file takes them that takes the user's own numbers. */
  readonly own?: Float32Array;
}

export interface Compared {
  readonly m: NetManifest;
  readonly header: DataHeader;
  readonly parameters: Weights;
}

export const session = { intraOpNumThreads: 1, logSeverityLevel: 3 } as const;

export const answerKinds: Readonly<Record<DataHeader['label']['kind'], AnswerKind>> = {
  ...{ class: 'class', tokens: 'class', vector: 'flags', real: 'numbers' },
};

/** Records that run in one go. */
const partRows = 256;

export class ExportedRun {
  readonly #comparison: Comparison;

  private constructor(
    private readonly file: InferenceSession,
    private readonly m: NetManifest,
    header: DataHeader,
    private readonly units: OwnUnits | undefined,
  ) {
    const width = netOf(m).output.shape.at(-1) ?? 1;
    this.#comparison = new Comparison(width, answerKinds[header.label.kind], 0, units?.scale);
  }

  /** @param onnx as `exportOnnx` writes it with the header */
  static async open(onnx: Uint8Array, { m, header }: Compared): Promise<ExportedRun> {
    return new ExportedRun(await InferenceSession.create(onnx, session), m, header, realOutputs(header));
  }

  /** @param part of a wide net as few records as the exact net takes at a time @param integers its outputs for them */
  async add({ count, features, own }: Part, integers: Float64Array): Promise<void> {
    const dims = [count, ...this.m.input.shape];
    const fed =
      own === undefined ? new Tensor(elementTypeOf(this.m), features, dims) : new Tensor('float32', own, dims);
    const { output } = await this.file.run({ features: fed });
    const unit = 2 ** -netOf(this.m).output.a;
    const exact = inOwnUnits(
      integers.map((value) => value * unit),
      this.units,
    );
    this.#comparison.add(count, output!.data as Float32Array, exact);
  }

  result(): Agreement {
    return this.#comparison.result();
  }

  async close(): Promise<void> {
    await this.file.release();
  }
}

/** Records that `predict` and `evaluate` compare: what all take is for `model export`. */
const comparedRows = 256;

type Outputs = ReturnType<NetForward['outputs']>;

/** The exact net, whose answers for the first rows are compared with the file that `model export` writes. */
export class FirstRows {
  #left = comparedRows;
  /** What is said of the first row that was cut. */
  #cut: string | undefined;

  private constructor(
    private readonly run: ExportedRun,
    private readonly compared: Compared,
    private readonly forward: NetForward,
  ) {}

  /** @param forward of the same net; stays open */
  static async open(compared: Compared, forward: NetForward): Promise<FirstRows> {
    const onnx = exportOnnx(compared.m, compared.parameters, { header: compared.header });
    return new FirstRows(await ExportedRun.open(onnx, compared), compared, forward);
  }

  /** Of all rows of a batch, a few at a time. */
  async *outputs(batch: Batch, features: NetExamples['features']): Outputs {
    const { m, header, parameters } = this.compared;
    const count = Math.min(batch.count, this.#left);
    this.#left -= count;
    const some = features.subarray(0, count * sizeOf(m.input.shape));
    const isOwn = count > 0 && takesOwnNumbers(header, false);
    const compared = { count, features: some, ...(isOwn && { own: ownOf(m, header, batch, some) }) };
    for await (const answered of this.forward.outputs(parameters, { count: batch.count, features })) {
      const { first, rows, output, isCut } = answered;
      const taken = Math.min(rows, count - first);
      if (taken > 0) {
        await this.run.add(rowsOf(m, compared, first, taken), output.subarray(0, (output.length / rows) * taken));
      }
      if (isCut)
        this.#cut ??= await this.#cutWords(
          batch.first + first,
          rowsOf(m, { count: batch.count, features }, first, rows),
        );
      yield answered;
    }
  }

  /** @param first row of the part, as the user counts them */
  async #cutWords(first: number, part: Part): Promise<string> {
    const { record, tensor, range, magnitude } = await this.forward.firstCut(this.compared.parameters, part);
    return `row ${first + record} takes ${tensor} to a value ${magnitude}, which is cut to ${range}: a step of training would refuse it (overflow "fail")`;
  }

  result(): InFloat32 {
    const check = this.run.result();
    const { records, largestDifference, largestOutput, sameAnswers } = check;
    const { header } = this.compared;
    const far = farWords(check, header, takesOwnNumbers(header, false));
    const warnings = this.#cut === undefined ? far : [...far, this.#cut];
    return {
      ...{ floatDifference: largestDifference, floatOutput: largestOutput, floatSameAnswers: sameAnswers },
      ...{ floatRows: records, warnings },
    };
  }

  async close(): Promise<void> {
    await this.run.close();
  }
}

export interface InFloat32 {
  /**
   * Largest between the exact outputs and the exported file's on the same cells: of numbers in the label's own unit, else of
   * scores, of which the answer is the largest or what is above 0.
   */
  readonly floatDifference: number;
  /** The largest output of the file. */
  readonly floatOutput: number;
  /** Rows, or places of a record, with the same answer; null where answers are numbers. */
  readonly floatSameAnswers: Agreement['sameAnswers'];
  /** Rows that were compared, from the first. */
  readonly floatRows: number;
  /** Where the file answers far otherwise. */
  readonly warnings: readonly string[];
}

/** Of the spread of a label: from there on an answer of the file is another one. */
const shareMax = 0.01;

/** @param takesOwn the file takes the user's own numbers, in float32 */
export function farWords(
  { largestShare, largestDifference }: Agreement,
  header: DataHeader,
  takesOwn: boolean,
): readonly string[] {
  if (largestShare === null || largestShare <= shareMax) return [];
  const [far, percent] = [largestDifference.toPrecision(3), Number((100 * largestShare).toPrecision(2))];
  const why = [
    ...lostWords(takesOwn ? header : { columns: [] }, 'the numbers of column', 'export with --integers'),
    ...lostWords(labelOf(header), 'the answers for', 'train on the label less a constant'),
  ];
  const within =
    'numbers within the net end at 16 bits, or are rounded, where the file has float32 (libs/step/SPEC.md §27)';
  return [
    `the exported model.onnx answers up to ${far} otherwise, ${percent} % of the spread of the label: ${why.join('; ') || within}`,
  ];
}

/** Columns of answers, which a file gives in the label's own unit whatever it takes. */
function labelOf({ label }: DataHeader): Pick<DataHeader, 'columns'> {
  return { columns: label.kind === 'real' ? label.columns : [] };
}

function lostWords(header: Pick<DataHeader, 'columns'>, what: string, action: string): readonly string[] {
  const lost = lostInFloat32(header).map(({ name }) => `"${name}"`);
  return lost.length === 0 ? [] : [`float32 does not hold ${what} ${lost.join(', ')}: ${action}`];
}

interface Batch {
  /** Number of the first row, from 1. */
  readonly first: number;
  readonly count: number;
  numbers(column: number, rows: number): Float64Array;
}

/** The first rows of a batch as the exported file takes them: numbers as the user's file has them. */
export function ownOf(
  m: NetManifest,
  header: DataHeader,
  batch: Pick<Batch, 'numbers'>,
  features: NetExamples['features'],
): Float32Array {
  const { center, scale } = realInputs(header)!;
  const [size, unit] = [scale.length, 'frac' in m.input ? 2 ** -m.input.frac : 1];
  const own = Float32Array.from(features, (value, i) => value * unit * scale[i % size]! + center[i % size]!);
  let from = 0;
  header.columns.forEach((column, place) => {
    const width = columnWidth(column) ?? size;
    if (column.kind === 'number') {
      batch.numbers(place, features.length / size).forEach((value, i) => {
        const at = Math.floor(i / width) * size + from + (i % width);
        own[at] = Number.isNaN(value) ? column.center : value;
      });
    }
    from += width;
  });
  return own;
}

/** Features of a few records at a time. */
export function* featureParts(m: NetManifest, part: Part): Generator<Part> {
  for (let first = 0; first < part.count; first += partRows) {
    yield rowsOf(m, part, first, Math.min(partRows, part.count - first));
  }
}

export function rowsOf({ input }: NetManifest, { features, own }: Part, first: number, count: number): Part {
  const width = sizeOf(input.shape);
  const [from, to] = [first * width, (first + count) * width];
  return { count, features: features.subarray(from, to), ...(own && { own: own.subarray(from, to) }) };
}

export async function exactOutputs(forward: NetForward, parameters: Weights, part: Part): Promise<Float64Array> {
  const { a, shape } = netOf(forward.manifest).output;
  const width = sizeOf(shape);
  const real = new Float64Array(part.count * width);
  for await (const { first, output } of forward.outputs(parameters, part)) {
    output.forEach((value, i) => (real[first * width + i] = value * 2 ** -a));
  }
  return real;
}
