/** `veritrain train --manifest --data`: a net trained here, on the enclave's engine, and measured. Nothing is proved by it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Rejection } from '#attestation/base';
import { readBytes, readJson } from '#libs/client';
import { checkHeaderFits, decodeWeights, drawnParameters, frozenOf, parametersOf, parseNetManifest } from '#libs/step';
import { runEngine, type EngineProgress } from '../train/engine-process.js';
import { openData, recordsOf, type DataOptions } from './data.js';
import { measured, type Measures } from './exact.js';
import { dataBeside, parametersFrom, startName, tokenizerName, weightsBytesMax, writeModel } from './folder.js';

export interface TrainedReport {
  readonly model: string;
  /** State digest after the last step. */
  readonly digest: string;
  readonly steps: number;
  readonly samplesPerSecond: number;
  readonly rows: { readonly train: number; readonly validation: number };
  readonly metrics: Measures | null;
  /** Where it ran, so that nobody takes it for more. */
  readonly where: string;
}

interface Request extends DataOptions {
  readonly manifest: string;
  readonly data: string;
  readonly out: string;
  readonly threads: number;
}

export async function trainModel(
  request: Request,
  onProgress: (progress: EngineProgress, steps: number) => void,
): Promise<TrainedReport> {
  const m = parseNetManifest(readJson(request.manifest));
  const beside = join(dirname(request.manifest), tokenizerName);
  const options: DataOptions = {
    ...dataBeside(request.manifest),
    ...(existsSync(beside) && { tokenizer: beside }),
    ...request,
  };
  const work = mkdtempSync(join(tmpdir(), 'veritrain-train-'));
  try {
    const source = await openData(request.data, options);
    const { header, train, validation } = await recordsOf(source, options, m.seed, work);
    checkHeaderFits(m, header);
    const out = join(work, 'state');
    const start = m.start.kind === 'weights' ? join(dirname(request.manifest), startName) : undefined;
    const brought = start === undefined ? drawnParameters(m) : parametersFrom(m, readBytes(start, weightsBytesMax));
    const engine = {
      ...{ manifest: m, records: train.path, digestAt: [m.steps], out, threads: request.threads },
      ...(start !== undefined && { start }),
    };
    const report = await runEngine(engine, (progress) => onProgress(progress, m.steps)).catch((error: unknown) => {
      throw withAdvice(error);
    });
    const parameters = parametersOf(m, decodeWeights(m, readFileSync(out)), frozenOf(m, brought));
    const tokenizer = source.tokenizer?.bytes;
    writeModel(request.out, { manifest: m, header, parameters, ...(tokenizer !== undefined && { tokenizer }) });
    const rows = { train: train.count, validation: validation?.count ?? 0 };
    const metrics = validation === null ? null : await measured(m, header, parameters, validation);
    return {
      ...{ model: request.out, digest: `0x${report.digests[m.steps]!}`, steps: m.steps },
      ...{
        samplesPerSecond: report.samplesPerSecond,
        rows,
        metrics,
        where: 'trained on this machine; attested by none',
      },
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A guard that stops a run names the parameter and the step; this adds what to change. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof Rejection) || !/GUARD/.test(error.code)) return error;
  const action = 'lower --lr of model init to a third, or give weights more room (wint) and edges fewer bits (a)';
  return new Rejection(error.code, { ...error.detail, action });
}
