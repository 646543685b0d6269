/** `veritrain train --manifest --data`: a net trained here, on the enclave's engine, and measured. Nothing is proved by it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ConfigurationError, type Explanation, type Rejection } from '#attestation/base';
import { makeFolder, readBytes, readJson } from '#libs/client';
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
  type NetManifest,
  type Weights,
} from '#libs/step';
import { runEngine, type EngineProgress } from '../train/engine-process.js';
import { openData, recordsOf, type DataOptions } from './data.js';
import { measured, type Measures } from './exact.js';
import { watchSaturation } from './saturation.js';
import { dataBeside, parametersFrom, startName, tokenizerName, weightsBytesMax, writeModel } from './folder.js';

type Warning = Explanation & { readonly code: string };

export interface TrainedReport {
  readonly model: string;
  /** State digest after the last step. */
  readonly digest: string;
  readonly steps: number;
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
  /** What was left out or changed while the data was read. */
  readonly notes: readonly string[];
  readonly metrics: Measures | null;
  /** TRAINING_SATURATES: so much lies at an end of its range that the model is worth little. */
  readonly warning: Warning | null;
  /** Where it ran, so that nobody takes it for more. */
  readonly where: string;
}

interface Request extends DataOptions {
  readonly manifest: string;
  readonly data: string;
  readonly out: string;
  readonly threads: number;
  /** Written after every so many steps and at the end; where it exists, training goes on from it. */
  readonly checkpoint?: string;
  readonly checkpointEvery: number;
}

export async function trainModel(
  request: Request,
  onProgress: (progress: EngineProgress, steps: number) => void,
): Promise<TrainedReport> {
  const release = request.checkpoint === undefined ? null : lockOf(request.checkpoint);
  try {
    return await train(request, onProgress);
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

async function train(
  request: Request,
  onProgress: (progress: EngineProgress, steps: number) => void,
): Promise<TrainedReport> {
  const m = parseNetManifest(readJson(request.manifest));
  makeFolder(request.out);
  const beside = join(dirname(request.manifest), tokenizerName);
  const options: DataOptions = {
    ...dataBeside(request.manifest),
    ...(existsSync(beside) && { tokenizer: beside }),
    ...request,
  };
  const work = mkdtempSync(join(tmpdir(), 'veritrain-train-'));
  try {
    const source = await openData(request.data, options);
    const { header, train, validation, report: read } = await recordsOf(source, options, m.seed, work);
    checkHeaderFits(m, header);
    const out = join(work, 'state');
    const start = m.start.kind === 'weights' ? join(dirname(request.manifest), startName) : undefined;
    // A file that cannot be read is named before anything is trained; the engine reads it for itself.
    if (start !== undefined) readBytes(start, weightsBytesMax);
    const { checkpoint, checkpointEvery } = request;
    const engine = {
      ...{ manifest: m, records: train.path, digestAt: [m.steps], out, threads: request.threads },
      isCounted: true,
      ...(start !== undefined && { start }),
      ...(checkpoint !== undefined && { checkpoint: { path: checkpoint, everySteps: checkpointEvery } }),
    };
    const saturation = watchSaturation(m);
    const report = await runEngine(engine, (progress) => {
      saturation.see(progress);
      onProgress(progress, m.steps);
    });
    const parameters = parametersOf(m, decodeWeights(m, readFileSync(out)), frozenParameters(m, start));
    const tokenizer = source.tokenizer?.bytes;
    writeModel(request.out, { manifest: m, header, parameters, ...(tokenizer !== undefined && { tokenizer }) });
    const trained = orderSize(m, train.count).epochSteps * m.batch;
    const rows = {
      ...{ train: trained, leftOut: train.count - trained, validation: validation?.count ?? 0 },
      unlabelled: read.dropped,
    };
    const metrics = validation === null ? null : await measured(m, header, parameters, validation);
    return {
      ...{ model: request.out, digest: `0x${report.digests[m.steps]!}`, steps: m.steps },
      resumedFrom: report.resumedFrom ?? 0,
      ...{
        samplesPerSecond: report.samplesPerSecond,
        rows,
        notes: read.notes,
        metrics,
        warning: warningOf(saturation.warning()),
        where: 'trained on this machine; attested by none',
      },
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param start path of the weights that the manifest starts from */
function frozenParameters(m: NetManifest, start: string | undefined): Weights {
  if (!parameterShapes(m).some(({ isFrozen }) => isFrozen)) return [];
  return frozenOf(m, start === undefined ? drawnParameters(m) : parametersFrom(m, readBytes(start, weightsBytesMax)));
}
