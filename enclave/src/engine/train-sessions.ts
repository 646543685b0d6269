/**
 * Trains steps of a job on onnxruntime: by the quick graph, where that is not sure by the graph whose guards tell, and
 * where weights strayed beyond what float64 carries by the integers of the reference.
 */
import { float64Tensors, InferenceSession, Tensor, type NamedTensors } from '#libs/onnx';
import {
  boundedTensors,
  buildQuickGraph,
  buildTrainGraph,
  quickVerdict,
  stepSize,
  type GuardOutput,
  type GuardSet,
  type Manifest,
  type QuickCall,
} from '#libs/step';
import { stepsExactly } from './exact-steps.js';
import type { LoadedDataset } from './loaded-dataset.js';
import { magnitudes, toWeights } from './tensors.js';
import { Trail } from './trail.js';
import { isCarried, readGuards } from './verdict.js';

/** Steps of one call of the quick graph: its bounds add up over the steps, and a call has a cost of its own. */
const quickSteps = { least: 8, most: 128 };
/** Steps without the quick graph once its shortest call was not sure. */
const pauseSteps = 1_000;

interface Trained {
  readonly next: NamedTensors;
  /** G_L of every step, [T, B, C]. */
  readonly error: Float64Array;
}

interface Steps {
  readonly dataset: LoadedDataset;
  readonly tensors: NamedTensors;
  readonly first: number;
  /** Block of every step. */
  readonly blocks: Int32Array;
}

export class TrainSessions {
  readonly #isSure: (call: QuickCall) => boolean;
  #known: { readonly tensors: NamedTensors; readonly most: Readonly<Record<string, number>> } | undefined;
  #quickSteps = quickSteps.most;
  #pauseUntil = -1;
  readonly #trail = new Trail();

  private constructor(
    readonly manifest: Manifest,
    guardSet: GuardSet,
    private readonly quick: InferenceSession | undefined,
    private readonly telling: InferenceSession,
    private readonly guards: readonly GuardOutput[],
  ) {
    this.#isSure = quickVerdict(manifest, guardSet);
  }

  /** @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4 */
  static async open(
    manifest: Manifest,
    guardSet: GuardSet,
    hasQuick: boolean,
    options: InferenceSession.SessionOptions,
  ): Promise<TrainSessions> {
    const { model, guards } = buildTrainGraph(manifest, guardSet);
    const quick = hasQuick ? await InferenceSession.create(buildQuickGraph(manifest, guardSet), options) : undefined;
    return new TrainSessions(manifest, guardSet, quick, await InferenceSession.create(model, options), guards);
  }

  /** @throws GuardViolation GUARD_VIOLATION */
  async run(steps: Steps): Promise<Trained> {
    const { blocks, first } = steps;
    const parts: Float64Array[] = [];
    let { tensors } = steps;
    for (let done = 0; done < blocks.length;) {
      const length = first + done < this.#pauseUntil ? blocks.length : this.#quickSteps;
      const part = { ...steps, tensors, first: first + done, blocks: blocks.slice(done, done + length) };
      done += part.blocks.length;
      const { next, error } = (await this.#quickly(part)) ?? (await this.#telling(part));
      tensors = next;
      parts.push(error);
    }
    return { next: tensors, error: concat(parts) };
  }

  async close(): Promise<void> {
    await this.quick?.release();
    await this.telling.release();
  }

  /** @returns undefined where the quick graph is not sure */
  async #quickly({ dataset, tensors, first, blocks }: Steps): Promise<Trained | undefined> {
    const { manifest, quick } = this;
    if (quick === undefined || first < this.#pauseUntil || first + blocks.length > manifest.steps) return undefined;
    const feeds = this.#feeds(dataset, tensors, first, blocks);
    const result = await quick.run(feeds);
    const output = (name: string) => result[name]!.data as Float64Array;
    const before = this.#known?.tensors === tensors ? this.#known.most : magnitudes(tensors, boundedTensors(manifest));
    if (!this.#isSure({ before, stepSizes: feeds.m.data as Float64Array, output })) {
      if (blocks.length <= quickSteps.least) this.#pauseUntil = first + pauseSteps;
      this.#quickSteps = Math.max(quickSteps.least, this.#quickSteps >> 1);
      return undefined;
    }
    this.#quickSteps = Math.min(quickSteps.most, 2 * this.#quickSteps);
    const next = nextTensors(tensors, result);
    this.#known = {
      tensors: next,
      most: Object.fromEntries(boundedTensors(manifest).map((name) => [name, output(`most.${name}`)[0]!])),
    };
    return { next, error: output('error') };
  }

  async #telling({ dataset, tensors, first, blocks }: Steps): Promise<Trained> {
    const { manifest, guards } = this;
    if (isCarried(guards, tensors)) {
      const result = await this.telling.run(this.#feeds(dataset, tensors, first, blocks));
      if (readGuards(manifest, guards, result, first, blocks.length, this.#trail) === 'sure') {
        return { next: nextTensors(tensors, result), error: result.error!.data as Float64Array };
      }
    }
    const { weights, error } = await stepsExactly(manifest, dataset, toWeights(manifest, tensors), first, blocks);
    return { next: float64Tensors(weights), error };
  }

  #feeds(dataset: LoadedDataset, tensors: NamedTensors, first: number, blocks: Int32Array) {
    const sizes = Float64Array.from(blocks, (_, i) => stepSize(this.manifest, first + i));
    return {
      ...dataset.feeds,
      ...tensors,
      blocks: new Tensor('int32', blocks, [blocks.length]),
      m: new Tensor('float64', sizes, [blocks.length]),
    };
  }
}

function nextTensors(tensors: NamedTensors, result: InferenceSession.ReturnType): NamedTensors {
  return Object.fromEntries(Object.keys(tensors).map((name) => [name, result[`${name}.next`] as Tensor]));
}

function concat(parts: readonly Float64Array[]): Float64Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
