/**
 * Runs the training graph of a manifest on onnxruntime: many steps per call, weights in exact integers outside.
 * Threads and graph optimisation cannot change a bit of the result (libs/step/SPEC.md §10).
 */
import { Rejection } from '#attestation/base';
import { float64Tensors, InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import {
  blocksOfSteps,
  buildEvaluateGraph,
  checkLabels,
  checkShapes,
  checkWeights,
  classCount,
  featureCount,
  guardedSteps,
  orderSize,
  type Examples,
  type GuardOutput,
  type GuardSet,
  type Manifest,
  type Weights,
} from '#libs/step';
import { checkSteps } from './check-steps.js';
import type { LoadedDataset } from './loaded-dataset.js';
import { chunkMetrics, type Metrics } from './metrics.js';
import { toWeights } from './tensors.js';
import { TrainSessions } from './train-sessions.js';
import { readGuards } from './verdict.js';

export interface EngineOptions {
  /** Threads of one operator; 1 when absent. */
  readonly threads?: number;
  /** Level of graph optimisation; `all` when absent. */
  readonly optimization?: 'disabled' | 'basic' | 'extended' | 'all';
  /** Guards of the job's commitment scheme; `attested` when absent. */
  readonly guardSet?: GuardSet;
  /** Steps that one proof of the job covers; a superblock when absent. */
  readonly ofProof?: number | undefined;
  /** Whether training may take the quick graph (libs/step/SPEC.md §10.1, §26); true when absent. */
  readonly hasQuick?: boolean;
  /** Of `fxt/2`: whether steps count values at the ends of their range, and errors of 0; false when absent. */
  readonly isCounted?: boolean;
  /** Of `fxt/2`: whether products may be taken by bytes, where the runtime's are exact; true when absent. */
  readonly hasBytes?: boolean;
}

export interface ChunkProgress extends Metrics {
  /** Steps of the job done so far. */
  readonly step: number;
  /** Weights after those steps; converting them costs about a tenth of a step per call, so ask only when needed. */
  readonly weights: () => Weights;
}

export interface TrainRequest {
  readonly dataset: LoadedDataset;
  /** Weights before step `fromStep`. */
  readonly weights: Weights;
  readonly fromStep: number;
  readonly stepCount: number;
  /** Steps of one call of the runtime; 100 when absent. */
  readonly chunkSteps?: number;
  /** Called after every chunk; training goes on when its promise is fulfilled and stops when it is rejected. */
  /** No chunk reaches over a step that is a multiple of it. */
  readonly window?: number | undefined;
  readonly onChunk?: (progress: ChunkProgress) => void | Promise<void>;
}

export class Engine {
  private constructor(
    readonly manifest: Manifest,
    readonly guardSet: GuardSet,
    private readonly trainSessions: TrainSessions,
    private readonly evaluateSession: InferenceSession,
    private readonly evaluateGuards: readonly GuardOutput[],
    private readonly ofProof: number | undefined,
  ) {}

  /** @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4 */
  static async open(manifest: Manifest, options: EngineOptions = {}): Promise<Engine> {
    const { guardSet = 'attested', hasQuick = true } = options;
    const evaluate = buildEvaluateGraph(manifest, guardSet);
    const sessions = sessionOptions(options.threads ?? 1, options.optimization);
    return new Engine(
      manifest,
      guardSet,
      await TrainSessions.open(manifest, guardSet, hasQuick, sessions),
      await InferenceSession.create(evaluate.model, sessions),
      evaluate.guards,
      options.ofProof,
    );
  }

  /**
   * @param examples shuffled records, whole; those beyond the last superblock are not used
   * @throws Rejection ORDER_TOO_FEW_RECORDS, DATASET_WIDTH, LABEL_RANGE
   */
  load(examples: Examples): LoadedDataset {
    const { batch } = this.manifest;
    const [n0, classes] = [featureCount(this.manifest), classCount(this.manifest)];
    const blocks = orderSize(this.manifest, examples.count).epochSteps;
    if (examples.features.length !== examples.count * n0 || examples.labels.length !== examples.count) {
      throw new Rejection('DATASET_WIDTH', {
        expected: `${examples.count} examples of ${n0} bytes and a label`,
        got: `${examples.features.length} bytes, ${examples.labels.length} labels`,
        rule: 'libs/step/SPEC.md §11',
      });
    }
    checkLabels(examples.labels, classes);
    const labels = Int32Array.from(examples.labels.subarray(0, blocks * batch));
    const features = examples.features.subarray(0, blocks * batch * n0);
    return {
      recordCount: examples.count,
      labels,
      feeds: {
        features: new Tensor('uint8', features, [blocks, batch, n0]),
        labels: new Tensor('int32', labels, [blocks, batch]),
      },
    };
  }

  /**
   * Trains steps fromStep … fromStep + stepCount − 1 of the job. Where the job can be proved and this is its last step,
   * the null steps up to the end of its last proof follow: they move no weight, and their guards count.
   *
   * @returns weights after the last step
   * @throws  GuardViolation GUARD_VIOLATION; Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE, STEP_OUT_OF_JOB
   */
  async train(request: TrainRequest): Promise<Weights> {
    const { dataset, fromStep, stepCount, chunkSteps = 100, window = Infinity, onChunk } = request;
    const { manifest, guardSet } = this;
    checkSteps(manifest, fromStep, stepCount);
    const isBorder = guardSet === 'attested' || fromStep % manifest.superblock === 0;
    (isBorder ? checkWeights : checkShapes)(manifest, request.weights);
    let tensors = float64Tensors(request.weights);
    const isEnd = stepCount > 0 && fromStep + stepCount === manifest.steps;
    const end = isEnd ? guardedSteps(manifest, guardSet, this.ofProof) : fromStep + stepCount;
    for (let first = fromStep; first < end;) {
      const inWindow = Number.isFinite(window) ? window - (first % window) : Infinity;
      const count = Math.min(chunkSteps, end - first, inWindow);
      const blocks = blocksOfSteps(manifest, first, count, dataset.recordCount);
      const { next, error } = await this.trainSessions.run({ dataset, tensors, first, blocks });
      tensors = next;
      first += count;
      if (onChunk) {
        const current = tensors;
        await onChunk({
          step: Math.min(first, manifest.steps),
          ...chunkMetrics(manifest, error, dataset.labels, blocks),
          weights: () => toWeights(manifest, current),
        });
      }
    }
    return toWeights(manifest, tensors);
  }

  /**
   * Exact integer predictions (libs/step/SPEC.md §4) and how many of them are right.
   *
   * @throws GuardViolation when a pre-activation leaves its range; Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE,
   * DATASET_WIDTH
   */
  async evaluate(weights: Weights, examples: Examples): Promise<{ predictions: Uint8Array; right: number }> {
    checkWeights(this.manifest, weights);
    const n0 = featureCount(this.manifest);
    const tensors = float64Tensors(weights);
    const predictions = new Uint8Array(examples.count);
    const rowsMax = 1_000;
    for (let first = 0; first < examples.count; first += rowsMax) {
      const rows = Math.min(rowsMax, examples.count - first);
      const features = examples.features.subarray(first * n0, (first + rows) * n0);
      const result = await this.evaluateSession.run({
        features: new Tensor('uint8', features, [rows, n0]),
        ...tensors,
      });
      readGuards(this.manifest, this.evaluateGuards, result, this.manifest.steps, 1);
      predictions.set(Uint8Array.from(result.prediction!.data as BigInt64Array, Number), first);
    }
    return { predictions, right: predictions.reduce((sum, p, i) => sum + (p === examples.labels[i] ? 1 : 0), 0) };
  }

  async close(): Promise<void> {
    await this.trainSessions.close();
    await this.evaluateSession.release();
  }
}
