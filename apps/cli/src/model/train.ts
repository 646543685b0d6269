/** `veritrain train --manifest --data`: a net trained here, on the enclave's engine, and measured. Nothing is proved by it. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError, type Explanation, type Rejection } from '#attestation/base';
import { readBytes, readJson } from '#libs/client/files';
import type { ImportedData } from '#libs/data';
import { overfitOf, readingOf, type Measured, type Overfit } from '#libs/models';
import { lockFile } from '#libs/process';
import {
  checkHeaderFits,
  decodeWeights,
  drawnParameters,
  frozenOf,
  orderSize,
  parametersOf,
  parameterShapes,
  parseNetManifest,
  type DataHeader,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { runEngine, type EngineEvaluation, type EngineProgress } from '../train/engine-process.js';
import { openData, recordsOf, usage, type DataOptions } from './data.js';
import { baselineOf, type Baseline } from './baseline.js';
import { measured, type Measures } from './exact.js';
import { watchSaturation } from './saturation.js';
import {
  dataBeside,
  finishModel,
  makeModelFolder,
  parametersFrom,
  startHeader,
  startName,
  tokenizerName,
  weightsBytesMax,
  writeModel,
} from './folder.js';
import { needTrainingSpace } from './free-space.js';
import { workingFolder } from './working-folder.js';

type Warning = Explanation & { readonly code: string };

export interface TrainedReport {
  readonly model: string;
  /** State digest after the last step. */
  readonly digest: string;
  readonly steps: number;
  /** Of a run that a rule may end: the step whose state the model is; null: the last. */
  readonly bestStep: number | null;
  /** Of them those that a checkpoint had done before. */
  readonly resumedFrom: number;
  readonly samplesPerSecond: number;
  readonly rows: {
    /** Trained on, left out because they fill no batch, and kept apart. */
    readonly train: number;
    readonly leftOut: number;
    readonly validation: number;
    /** Left out because they have no label. */
    readonly unlabelled: number;
  };
  /** What was left out or changed while the data was read, and which files went with a former model. */
  readonly notes: readonly string[];
  readonly metrics: Measures | null;
  /** Of the same rows. */
  readonly baseline: Baseline | null;
  /**
   * The rows kept apart were answered clearly better before the end; null too where the manifest's `stop` keeps the best, and
   * of a run that went on from a checkpoint, which has no figures of what came before.
   */
  readonly overfit: Overfit | null;
  /** TRAINING_SATURATES: so much lies at an end of its range that the model is worth little. */
  readonly warning: Warning | null;
  /** Where it ran, so that nobody takes it for more. */
  readonly where: string;
}

interface Request extends DataOptions {
  readonly manifest: string;
  readonly data: string;
  readonly out: string;
  /** A trained model of another manifest may go; a plan of one and what is known as the result of a job never do. */
  readonly replace?: boolean;
  readonly threads: number;
  readonly carrier?: 'auto' | 'float64';
  /** Written after every so many steps and at the end; where it exists, training goes on from it. */
  readonly checkpoint?: string;
  readonly checkpointEvery: number;
}

export interface TrainingWatch {
  onProgress(progress: EngineProgress, steps: number): void;
  /** Of the rows kept apart, as the manifest's `evaluate` asks for it. */
  onEvaluation(step: number, metrics: readonly Measured[]): void;
}

export async function trainModel(request: Request, watch: TrainingWatch): Promise<TrainedReport> {
  const release = request.checkpoint === undefined ? null : lockOf(request.checkpoint);
  try {
    return await train(request, watch);
  } finally {
    release?.();
  }
}

/** @throws ConfigurationError CHECKPOINT_BUSY where another run keeps its state in the file */
function lockOf(checkpoint: string): () => void {
  try {
    return lockFile(`${checkpoint}.lock`).release;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError('CHECKPOINT_BUSY', {
      expected: 'no other process that keeps its state in the file',
      got: error.detail.got,
      rule: 'train',
      action: 'wait for it, or name another file with --checkpoint',
    });
  }
}

function warningOf(found: Rejection | null): Warning | null {
  return found && { code: found.code, ...found.detail };
}

async function train(request: Request, { onProgress, onEvaluation }: TrainingWatch): Promise<TrainedReport> {
  finishModel(dirname(request.manifest));
  const m = parseNetManifest(readJson(request.manifest));
  if (m.stop !== null && request.checkpoint !== undefined) {
    throw usage('a manifest without stop beside --checkpoint: the rule needs every evaluation from the start', 'stop');
  }
  makeModelFolder(request.out, m, request.replace);
  needTrainingSpace(m, request.out, request.checkpoint);
  const beside = join(dirname(request.manifest), tokenizerName);
  const options: DataOptions = {
    ...dataBeside(request.manifest),
    ...(existsSync(beside) && { tokenizer: beside }),
    ...request,
  };
  const { path: work, drop } = workingFolder('train');
  try {
    const source = await openData(request.data, options);
    const by = startHeader(request.manifest, m);
    const imported = await recordsOf(source, options, m.seed, work, by);
    const { header, train, validation } = imported;
    checkHeaderFits(m, header);
    if (m.stop !== null && validation === null) {
      throw usage('rows kept apart (--validation), which the rule stop of the manifest goes by', 'none');
    }
    const out = join(work, 'state');
    const start = m.start.kind === 'weights' ? join(dirname(request.manifest), startName) : undefined;
    // A file that cannot be read is named before anything is trained; the engine reads it for itself.
    if (start !== undefined) readBytes(start, weightsBytesMax);
    const { checkpoint, checkpointEvery } = request;
    const engine = {
      ...{ manifest: m, records: train.path, digestAt: [m.steps], out, threads: request.threads },
      ...{ isCounted: true, carrier: request.carrier ?? 'auto' },
      ...(validation !== null && m.evaluate !== null && { validation: validation.path }),
      ...(start !== undefined && { start }),
      ...(checkpoint !== undefined && { checkpoint: { path: checkpoint, everySteps: checkpointEvery } }),
    };
    const saturation = watchSaturation(m);
    const curve: EngineEvaluation[] = [];
    const report = await runEngine(engine, (told) => {
      if ('metrics' in told) {
        curve.push(told);
        return onEvaluation(told.step, readings(header, told));
      }
      saturation.see(told);
      onProgress(told, m.steps);
    });
    const parameters = parametersOf(m, decodeWeights(m, readFileSync(out)), frozenParameters(m, start));
    const resumedFrom = report.resumedFrom ?? 0;
    const model = { manifest: m, header, parameters, ...(source.tokenizer && { tokenizer: source.tokenizer.bytes }) };
    const dropped = writeModel(request.out, model);
    const metrics = validation === null ? null : await measured(m, header, parameters, validation);
    return {
      ...{ model: request.out, digest: `0x${report.best?.digest ?? report.digests[m.steps]!}` },
      ...{ steps: report.best?.done ?? m.steps, bestStep: report.best?.step ?? null },
      resumedFrom,
      ...{
        samplesPerSecond: report.samplesPerSecond,
        rows: rowsOf(m, imported),
        notes: [...imported.report.notes, ...droppedWords(dropped)],
        metrics,
        baseline: validation === null ? null : baselineOf(m, header, validation),
        overfit: m.stop === null && resumedFrom === 0 ? overfitOf(header, curve) : null,
        warning: warningOf(saturation.warning()),
        where: 'trained on this machine; attested by none',
      },
    };
  } finally {
    drop();
  }
}

function droppedWords(names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  return [`${names.join(', ')}, which model export had made of the former model in --out, went with its weights`];
}

function readings(header: DataHeader, { metrics }: EngineEvaluation): readonly Measured[] {
  return metrics.map((one) => readingOf(header, one));
}

function rowsOf(m: NetManifest, { train, validation, report }: ImportedData): TrainedReport['rows'] {
  const trained = orderSize(m, train.count).epochSteps * m.batch;
  const [leftOut, unlabelled] = [train.count - trained, report.dropped];
  return { train: trained, leftOut, validation: validation?.count ?? 0, unlabelled };
}

/** @param start path of the weights that the manifest starts from */
function frozenParameters(m: NetManifest, start: string | undefined): Weights {
  if (!parameterShapes(m).some(({ isFrozen }) => isFrozen)) return [];
  return frozenOf(m, start === undefined ? drawnParameters(m) : parametersFrom(m, readBytes(start, weightsBytesMax)));
}
