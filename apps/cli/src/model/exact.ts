/** Exact outputs of a model on records, and what they measure. */
import { readFileSync } from 'node:fs';
import { NetForward } from '#libs/onnx';
import {
  NetMeasurement,
  netRecordLayout,
  parseNetManifest,
  splitNetRecords,
  type DataHeader,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { metricsOf, readingOf, type Measured } from '#libs/models';

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
      await meter.add(forward.outputs(parameters, examples), examples);
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

  async add(outputs: ReturnType<NetForward['outputs']>, { count, labels }: NetExamples): Promise<void> {
    const own = labels.length / count;
    for await (const { first, rows, output } of outputs) {
      this.#measurement.add(output, labels.subarray(first * own, (first + rows) * own));
    }
  }

  results(): readonly Measured[] {
    return this.#measurement.results().map((one) => readingOf(this.header, one));
  }
}
