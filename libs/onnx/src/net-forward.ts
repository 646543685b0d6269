/** Exact outputs of a net on onnxruntime: what evaluation counts and predictions show (libs/step/SPEC.md §26). */
import {
  buildNetForwardGraph,
  checkParameters,
  netOf,
  type NetExamples,
  type NetManifest,
  type Weights,
  sizeOf,
} from '#libs/step';
import { carriesBytes } from './carries-bytes.js';
import { InferenceSession, Tensor } from './runtime.js';
import { elementTypeOf, float64Tensors, sessionOptions } from './net-tensors.js';

/** Whole numbers of the output edge, row-major [count, …shape]. */
type NetOutput = Float64Array;

export class NetForward {
  private constructor(
    readonly manifest: NetManifest,
    private readonly session: InferenceSession,
  ) {}

  /** @param threads of one operator */
  static async open(manifest: NetManifest, threads = 1): Promise<NetForward> {
    const { model } = buildNetForwardGraph(manifest, await carriesBytes());
    return new NetForward(manifest, await InferenceSession.create(model, sessionOptions(threads, 'all', manifest)));
  }

  /**
   * @param parameters all of them, frozen ones too @param features of whole records
   * @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE
   */
  async *outputs(
    parameters: Weights,
    { count, features }: Pick<NetExamples, 'count' | 'features'>,
    rowsMax = rowsOf(this.manifest),
  ): AsyncGenerator<{ readonly first: number; readonly rows: number; readonly output: NetOutput }> {
    checkParameters(this.manifest, parameters);
    const feeds = float64Tensors(parameters);
    const width = features.length / count;
    for (let first = 0; first < count; first += rowsMax) {
      const rows = Math.min(rowsMax, count - first);
      const part = features.subarray(first * width, (first + rows) * width);
      const tensor = new Tensor(elementTypeOf(this.manifest), part, [rows, ...this.manifest.input.shape]);
      const { output } = await this.session.run({ features: tensor, ...feeds });
      yield { first, rows, output: output!.data as Float64Array };
    }
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
