/** Exact outputs of a net on onnxruntime: what evaluation counts and predictions show (libs/step/SPEC.md §26). */
import {
  beyond,
  buildNetForwardGraph,
  checkParameters,
  netOf,
  type Beyond,
  type NetForwardGraph,
  type NetExamples,
  type NetManifest,
  type Weights,
  sizeOf,
} from '#libs/step';
import { carriesBytes } from './carries-bytes.js';
import { InferenceSession, Tensor } from './runtime.js';
import { elementTypeOf, float64Tensors, sessionOptions, type NamedTensors } from './net-tensors.js';

/** Whole numbers of the output edge, row-major [count, …shape]. */
type NetOutput = Float64Array;

interface ForwardPart {
  readonly first: number;
  readonly rows: number;
  readonly output: NetOutput;
  /** Whether a value was cut at the end of a range that no step may leave (`overflow: "fail"`). */
  readonly isCut: boolean;
}

interface RecordCut extends Beyond {
  /** 0-based, of those that were given. */
  readonly record: number;
  readonly tensor: string;
}

export class NetForward {
  private constructor(
    readonly manifest: NetManifest,
    private readonly session: InferenceSession,
    private readonly watched: NetForwardGraph['watched'],
  ) {}

  /** @param threads of one operator */
  static async open(manifest: NetManifest, threads = 1): Promise<NetForward> {
    const { model, watched } = buildNetForwardGraph(manifest, await carriesBytes());
    const session = await InferenceSession.create(model, sessionOptions(threads, 'all', manifest));
    return new NetForward(manifest, session, watched);
  }

  /**
   * @param parameters all of them, frozen ones too @param features of whole records
   * @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE
   */
  async *outputs(
    parameters: Weights,
    { count, features }: Pick<NetExamples, 'count' | 'features'>,
    rowsMax = rowsOf(this.manifest),
  ): AsyncGenerator<ForwardPart> {
    checkParameters(this.manifest, parameters);
    const feeds = float64Tensors(parameters);
    const width = features.length / count;
    for (let first = 0; first < count; first += rowsMax) {
      const rows = Math.min(rowsMax, count - first);
      const part = features.subarray(first * width, (first + rows) * width);
      const result = await this.#run(part, rows, feeds);
      const isCut = this.#beyond(result) !== undefined;
      yield { first, rows, output: result.output!.data as Float64Array, isCut };
    }
  }

  /** The first of the records for which `isCut` holds, and what of it was cut. */
  async firstCut(
    parameters: Weights,
    { count, features }: Pick<NetExamples, 'count' | 'features'>,
  ): Promise<RecordCut> {
    const feeds = float64Tensors(parameters);
    const width = features.length / count;
    for (let record = 0; record < count; record++) {
      const found = this.#beyond(await this.#run(features.subarray(record * width, (record + 1) * width), 1, feeds));
      if (found !== undefined) return { record, ...found };
    }
    throw new Error('records of which one was cut together, and none alone');
  }

  #run(part: NetExamples['features'], rows: number, parameters: NamedTensors): Promise<InferenceSession.ReturnType> {
    const features = new Tensor(elementTypeOf(this.manifest), part, [rows, ...this.manifest.input.shape]);
    return this.session.run({ features, ...parameters });
  }

  /** What left a range first, in the order of a pass, where a step would guard it. */
  #beyond(result: InferenceSession.ReturnType): Omit<RecordCut, 'record'> | undefined {
    for (const one of this.watched) {
      const found = beyond(one, (result[one.output]!.data as Float64Array)[0]!);
      if (found !== null) return { tensor: one.tensor, ...found };
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}

const elementsOfCall = 1 << 22;

/** Records of one call, so that its largest edge has a bounded size. */
function rowsOf(m: NetManifest): number {
  const { layers } = netOf(m);
  const widest = Math.max(...layers.map(({ output }) => sizeOf(output.shape)));
  return Math.max(1, Math.min(1_000, Math.floor(elementsOfCall / widest)));
}
