/**
 * Runs the training graph of a net of `fxt/2` on onnxruntime: many steps per call, exact integers outside. Threads and
 * graph optimisation cannot change a bit of the result (libs/step/SPEC.md §10, §26).
 */
import { Rejection } from '#attestation/base';
import {
  chosenProvider,
  elementTypeOf,
  float64Tensors,
  type InferenceSession,
  providerRefused,
  sessionOptions,
  Tensor,
  type NamedTensors,
} from '#libs/onnx';
import {
  beyond,
  blocksOfSteps,
  checkWeights,
  explained,
  GuardViolation,
  netOf,
  orderSize,
  packedTensors,
  readCounts,
  stepInputs,
  stepInputSizes,
  stepScalars,
  type NetExamples,
  type NetManifest,
  type NetTrainGraph,
  type Weights,
  sizeOf,
} from '#libs/step';
import type { EngineOptions, TrainRequest } from './engine.js';
import { checkSteps } from './check-steps.js';
import type { LoadedDataset } from './loaded-dataset.js';
import type { Metrics } from './metrics.js';
import { NetSessions, type NetRun } from './net-sessions.js';
import { packedState, unpackedState } from './net-state.js';
import { Trail } from './trail.js';

export class NetEngine {
  readonly #frozen: NamedTensors;
  readonly #trail = new Trail();

  private constructor(
    readonly manifest: NetManifest,
    private readonly sessions: NetSessions,
    frozen: Weights,
  ) {
    this.#frozen = float64Tensors(frozen);
  }

  /**
   * @param frozen parameters that the job does not train
   * @throws ConfigurationError ENGINE_PROVIDER: on a device, where no self-test has run these graphs
   */
  static async open(manifest: NetManifest, frozen: Weights, options: EngineOptions = {}): Promise<NetEngine> {
    const provider = chosenProvider();
    if (provider !== 'cpu')
      throw providerRefused('a net of fxt/1', `one of fxt/2 on ${provider}`, 'train it in a guest with --provider cpu');
    const { threads = 1, optimization = 'all', isCounted = false, hasBytes = true, hasQuick = true } = options;
    const runtime = sessionOptions(threads, optimization, manifest);
    const sessions = await NetSessions.open(manifest, runtime, { isCounted, hasBytes, hasQuick });
    return new NetEngine(manifest, sessions, frozen);
  }

  /**
   * @param examples shuffled records, whole; those beyond the last superblock are not used
   * @throws Rejection ORDER_TOO_FEW_RECORDS, DATASET_WIDTH
   */
  load({ count, features, labels }: NetExamples): LoadedDataset {
    const { batch, input } = this.manifest;
    const blocks = orderSize(this.manifest, count).epochSteps;
    const { shape } = netOf(this.manifest).labels;
    const sizes = [input.shape, shape].map((dims) => sizeOf(dims));
    if (features.length !== count * sizes[0]! || labels.length !== count * sizes[1]!) {
      throw new Rejection('DATASET_WIDTH', {
        expected: `${count} examples of ${sizes[0]} features and ${sizes[1]} labels`,
        got: `${features.length} features, ${labels.length} labels`,
        rule: 'libs/step/SPEC.md §25',
      });
    }
    const used = labels.subarray(0, blocks * batch * sizes[1]!);
    return {
      recordCount: count,
      labels: used,
      feeds: {
        features: new Tensor(elementTypeOf(this.manifest), features.subarray(0, blocks * batch * sizes[0]!), [
          blocks,
          batch,
          ...input.shape,
        ]),
        labels: new Tensor('int32', used, [blocks, batch, ...shape]),
      },
    };
  }

  /**
   * Trains steps fromStep … fromStep + stepCount − 1 of the job.
   *
   * @returns state after the last step
   * @throws  GuardViolation GUARD_VIOLATION; Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE, STEP_OUT_OF_JOB
   */
  async train({ weights, ...request }: TrainRequest): Promise<Weights> {
    checkSteps(this.manifest, request.fromStep, request.stepCount);
    checkWeights(this.manifest, weights);
    // No frame that waits for the steps holds the weights: a large state is there in doubles alone.
    return this.#steps(packedState(this.manifest, weights), request);
  }

  async #steps(from: NamedTensors, request: Omit<TrainRequest, 'weights'>): Promise<Weights> {
    const { dataset, fromStep, stepCount, chunkSteps = 100, window = Infinity, onChunk } = request;
    const { manifest } = this;
    const names = packedTensors(manifest).map(({ name }) => name);
    let tensors = from;
    for (let first = fromStep; first < fromStep + stepCount;) {
      const inWindow = Number.isFinite(window) ? window - (first % window) : Infinity;
      const count = Math.min(chunkSteps, fromStep + stepCount - first, inWindow);
      const { graph, result } = await this.#chunk(dataset, tensors, first, count);
      tensors = Object.fromEntries(names.map((name) => [name, result[`${name}.next`]!]));
      first += count;
      const current = tensors;
      await onChunk?.({
        step: first,
        ...this.#figures(graph, result, count),
        weights: () => unpackedState(manifest, current),
      });
    }
    return unpackedState(manifest, tensors);
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }

  async #chunk(dataset: LoadedDataset, tensors: NamedTensors, first: number, count: number): Promise<NetRun> {
    const { manifest } = this;
    const perStep = stepInputSizes(manifest).map(({ layer, size }) => {
      const values = Float64Array.from({ length: count * size }, () => 0);
      for (let i = 0; i < count; i++) values.set(stepInputs(layer, first + i), i * size);
      return [`input:${layer.id}`, new Tensor('float64', values, [count, size])] as const;
    });
    const scalars = Float64Array.from(Array.from({ length: count }, (_, i) => stepScalars(manifest, first + i)).flat());
    const feeds = {
      ...{ ...dataset.feeds, ...this.#frozen, ...tensors, ...Object.fromEntries(perStep) },
      blocks: new Tensor('int32', blocksOfSteps(manifest, first, count, dataset.recordCount), [count]),
      scalars: new Tensor('float64', scalars, [count, scalars.length / count]),
    };
    const run = await this.sessions.run(feeds, { tensors, first, count });
    this.#check(run.graph, run.result, first, count);
    return run;
  }

  #figures({ counted }: NetTrainGraph, result: InferenceSession.ReturnType, count: number): Metrics {
    const labels = sizeOf(netOf(this.manifest).labels.shape);
    const all = count * this.manifest.batch * labels;
    const sum = (name: string): number =>
      (result[name]!.data as Float64Array).reduce((total, value) => total + value, 0);
    const edges = counted.length === 0 ? [] : readCounts(counted, result.counts!.data as Float64Array);
    return { loss: sum('loss') / all, accuracy: sum('right') / all, edges };
  }

  /** @throws GuardViolation for the first value out of its range */
  #check({ watched }: NetTrainGraph, result: InferenceSession.ReturnType, first: number, count: number): void {
    const magnitudes = (output: string): Float64Array => result[output]!.data as Float64Array;
    for (let i = 0; i < count; i++) {
      for (const one of watched) {
        const found = beyond(one, magnitudes(one.output)[i]!);
        if (found === null) continue;
        const violation = new GuardViolation(first + i, one.tensor, found.range, found.magnitude);
        throw explained(violation, this.manifest, this.#trail.growth(one.output, magnitudes, first, i));
      }
    }
    const outputs = watched.map(({ output }) => output);
    this.#trail.follow(outputs, magnitudes, first, count);
  }
}
