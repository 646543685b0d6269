/** `veritrain train`: the engine alone: a net on a file of data, or plaintext IDX files for digests and speed. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readJson } from '#libs/client/files';
import { edgeWords } from '../job/edge-words.js';
import { baselineLines } from '../model/baseline.js';
import { addDataOptions, usage, type DataOptions } from '../model/data.js';
import { figure } from '../model/figure.js';
import { metricLine } from '../model/metric-line.js';
import { overfitLine } from '../model/overfit-line.js';
import { trainModel, type TrainedReport, type TrainingWatch } from '../model/train.js';
import { log, printResult, ownTable, type OutputOptions } from '../output.js';
import { runEngine, type EngineEvaluation, type EngineProgress, type EngineReport } from '../train/engine-process.js';
import { runVector } from '../train/vector.js';

interface TrainOptions extends OutputOptions, DataOptions {
  readonly manifest?: string;
  readonly vector?: string;
  readonly images?: string;
  readonly data?: string;
  readonly out?: string;
  readonly replace?: boolean;
  readonly carrier: 'float64' | 'auto';
  readonly digestAt?: readonly number[];
  readonly threads: number;
  readonly checkpoint?: string;
  readonly checkpointEvery: number;
}

export function addTrainCommand(train: Command): void {
  train
    .option('--manifest <file>', 'fxt/2 manifest, with --data and --out; fxt/1 with --images and --labels')
    .option('--data <file>', 'csv, tsv, parquet, npy, npz, idx, jsonl, txt, or a folder of pictures')
    .option('--out <folder>', 'where the trained model goes')
    .option(
      '--replace',
      'with --out: in the place of a model of another manifest too, never beside its plan.json, nor of the result of a job, which job.vtb or the delivered model.onnx in the folder tells',
    )
    .option('--images <file>', 'IDX file of unsigned bytes')
    .option('--vector <file>', 'fxt/2 manifest with a member data that names its records, in place of the others')
    .addOption(
      new Option('--carrier <name>', 'float64 alone, or what is fastest; the digests are the same')
        .choices(['float64', 'auto'])
        .default('auto'),
    )
    .option('--digest-at <steps>', 'comma-separated numbers of finished steps; not with --data', steps)
    .option('--threads <n>', 'threads of one operator', whole, 1)
    .option('--checkpoint <file>', 'with --data: keep the state here; where the file exists, go on from it')
    .option('--checkpoint-every <steps>', 'steps between two checkpoints', whole, 100);
  addDataOptions(train)
    .option('--json', 'print one JSON document')
    .action(async (options: TrainOptions) => {
      const { data, manifest, out } = options;
      if (data !== undefined) {
        if (manifest === undefined || out === undefined) {
          const missing = [...(manifest === undefined ? ['--manifest'] : []), ...(out === undefined ? ['--out'] : [])];
          const action = 'name the manifest that `model init` wrote, and a folder for the trained model';
          throw usage('--manifest and --out beside --data', `no ${missing.join(' and no ')}`, action);
        }
        return printTrained(options, await trainModel({ ...options, data, manifest, out }, saying));
      }
      if (options.checkpoint !== undefined) throw usage('--data beside --checkpoint', 'none');
      if (options.replace === true) throw usage('--data and --out beside --replace', 'no --data');
      const report = await reportOf(options);
      printResult(options, report, () =>
        ownTable([
          ...Object.entries(report.digests).map(([step, digest]) => [`step ${step}`, digest] as const),
          ['samples/s', Math.round(report.samplesPerSecond).toLocaleString('en')],
        ]),
      );
    });
}

/** What the engine alone tells: exact counts, as nobody says here what the label's unit is. */
function sayTold(told: EngineProgress | EngineEvaluation): void {
  if ('loss' in told) return log([`step ${told.step}`, ...figuresOf(told)].join('  '));
  const counts = told.metrics.map(({ metric, numerator, denominator }) => `${metric} ${numerator}/${denominator}`);
  log([`validation at step ${told.step}`, ...counts].join('  '));
}

function figuresOf({ loss, accuracy, edges }: EngineProgress): readonly string[] {
  return [`loss ${loss.toFixed(4)}`, `met ${(100 * accuracy).toFixed(1)} %`, ...edgeWords(edges)];
}

const saying: TrainingWatch = {
  onProgress(told, of) {
    log([`step ${told.step} of ${of}`, ...figuresOf(told)].join('  '));
  },
  onEvaluation(step, metrics) {
    log([`validation at step ${step}`, ...metrics.map(({ name, value }) => `${name} ${figure(value)}`)].join('  '));
  },
};

function printTrained(options: TrainOptions, report: TrainedReport): void {
  const {
    model,
    digest,
    steps: done,
    resumedFrom,
    samplesPerSecond,
    rows,
    metrics,
    baseline,
    overfit,
    warning,
    where,
    notes,
    bestStep,
  } = report;
  printResult(options, report, () =>
    ownTable([
      ['model', model],
      [
        'state',
        `${digest} after ${bestStep ?? done} steps${resumedFrom === 0 ? '' : `, of which a checkpoint had ${resumedFrom}`}`,
      ],
      ...(bestStep === null ? [] : [['best', `step ${bestStep} of ${done} that were made`] as const]),
      [
        'rows',
        [
          `${rows.train} trained on, ${rows.validation} kept apart`,
          ...(rows.leftOut === 0 ? [] : [`${rows.leftOut} left out, for they fill no batch`]),
          ...(rows.unlabelled === 0 ? [] : [`${rows.unlabelled} left out, for they have no label`]),
        ].join(', '),
      ],
      ...notes.map((note) => ['note', note] as const),
      ...(metrics?.metrics ?? []).map(metricLine),
      ...(baseline === null ? [] : baselineLines(baseline)),
      ['samples/s', Math.round(samplesPerSecond).toLocaleString('en')],
      ...(overfit === null ? [] : [overfitLine(overfit, options.checkpoint === undefined)]),
      ...(warning === null ? [] : [['warning', warningLine(warning)] as const]),
      ['', where],
    ]),
  );
}

function warningLine({ code, expected, got, action = '' }: NonNullable<TrainedReport['warning']>): string {
  return `${code}: expected ${expected}, got ${got}; ${action}`;
}

async function reportOf(options: TrainOptions): Promise<EngineReport> {
  const { vector, manifest, images, labels, digestAt, threads, carrier } = options;
  if (digestAt === undefined) {
    throw usage(
      '--digest-at, or --manifest with --data and --out',
      'neither',
      'say --digest-at 0,1,100, the numbers of finished steps whose state digests you want; or --data and --out for a model',
    );
  }
  const onTold = options.json === true ? undefined : sayTold;
  if (vector !== undefined) return runVector(readJson(vector), { digestAt, threads, carrier }, onTold);
  if (manifest === undefined || images === undefined || labels === undefined) {
    throw usage('--vector, --data, or --manifest with --images and --labels', 'none');
  }
  return runEngine({ manifest: readJson(manifest), images, labels, digestAt, threads, carrier }, onTold);
}

function steps(text: string): readonly number[] {
  if (!/^\d{1,9}(,\d{1,9})*$/.test(text)) throw new InvalidArgumentError('step counts such as 0,1,100');
  return text.split(',').map(Number);
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 999999');
  return Number(text);
}
