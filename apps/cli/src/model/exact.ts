/** Exact outputs of a model on records, what they measure, and how far the float model is from them. */
import { readFileSync } from 'node:fs';
import { InferenceSession, NetForward, Tensor, elementTypeOf } from '#libs/onnx';
import { exportOnnx } from '#libs/models';
import {
  NetMeasurement,
  netOf,
  netRecordLayout,
  parseNetManifest,
  splitNetRecords,
  type DataHeader,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { metricsOf, type Measured } from '#libs/models';

export interface Measures {
  readonly rows: number;
  readonly metrics: readonly Measured[];
}

/** Records measured in one go. */
const chunkRows = 4_096;

/** A manifest that asks for every metric of its loss. */
function measuring(m: NetManifest, header: DataHeader): NetManifest {
  const metrics = metricsOf(header).map(({ metric }) => metric);
  return parseNetManifest({ ...m, stop: null, evaluate: { every: 1, metrics } });
}

interface Records {
  readonly path: string;
  readonly count: number;
}

/** @param records in a file, as an import leaves them */
export async function measured(
  m: NetManifest,
  header: DataHeader,
  parameters: Weights,
  { path, count }: Records,
): Promise<Measures> {
  const bytes = readFileSync(path);
  const { recordBytes } = netRecordLayout(m);
  const meter = new Meter(m, header);
  const forward = await NetForward.open(m);
  try {
    for (let first = 0; first < count; first += chunkRows) {
      const rows = Math.min(chunkRows, count - first);
      const examples = splitNetRecords(m, bytes.subarray(first * recordBytes, (first + rows) * recordBytes));
      await meter.add(forward, parameters, examples);
    }
  } finally {
    await forward.close();
  }
  return { rows: count, metrics: meter.results() };
}

/** Counts the metrics of a loss over examples. */
export class Meter {
  readonly #measurement: NetMeasurement;

  constructor(
    m: NetManifest,
    private readonly header: DataHeader,
  ) {
    this.#measurement = new NetMeasurement(measuring(m, header));
  }

  async add(forward: NetForward, parameters: Weights, examples: NetExamples): Promise<void> {
    const own = examples.labels.length / examples.count;
    for await (const { first, rows, output } of forward.outputs(parameters, examples)) {
      this.#measurement.add(output, examples.labels.subarray(first * own, (first + rows) * own));
    }
  }

  results(): readonly Measured[] {
    const known = metricsOf(this.header);
    return this.#measurement.results().map(({ metric, numerator, denominator }) => {
      const value = known.find((one) => one.metric === metric)!.value(numerator, denominator);
      return { metric, numerator: numerator.toString(), denominator: denominator.toString(), ...value };
    });
  }
}

/** The model as any runtime runs it, beside the exact one. */
export class FloatModel {
  private constructor(
    private readonly m: NetManifest,
    private readonly session: InferenceSession,
  ) {}

  static async open(m: NetManifest, parameters: Weights): Promise<FloatModel> {
    const session = await InferenceSession.create(exportOnnx(m, parameters), {
      intraOpNumThreads: 1,
      logSeverityLevel: 3,
    });
    return new FloatModel(m, session);
  }

  /**
   * Largest difference to exact outputs, in the outputs' own real numbers. Exact ones end at 16 bits; a float one beyond
   * is taken as that end.
   */
  async difference(features: NetExamples['features'], rows: number, exact: ArrayLike<number>): Promise<number> {
    const tensor = new Tensor(elementTypeOf(this.m), features, [rows, ...this.m.input.shape]);
    const { output } = await this.session.run({ features: tensor });
    const scale = 2 ** -netOf(this.m).output.a;
    const found = output!.data as Float32Array;
    const ended = (value: number) => Math.min(Math.max(value, -(2 ** 15) * scale), (2 ** 15 - 1) * scale);
    return found.reduce((largest, value, i) => Math.max(largest, Math.abs(ended(value) - exact[i]! * scale)), 0);
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}
