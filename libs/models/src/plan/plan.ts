/** Chooses a manifest for data that was looked at: nobody writes a fraction or an integer bit by hand. */
import { Rejection } from '#attestation/base';
import { parseNetManifest, type DataHeader, type NetManifest } from '#libs/step';
import { refuse } from '../errors.js';
import { objectiveOf, type Task } from '../losses/objective.js';
import { sketches, type Architecture, type Sketch } from '../ops/architectures.js';
import { optimizerOf, type OptimizerName } from './optimizer.js';
import { warmupOf } from './schedule.js';

/** What the user asks for; what is absent is chosen. */
export interface PlanWish {
  readonly arch?: Architecture;
  /** Peak of the learning rate, on the mean over the batch. */
  readonly lr?: number;
  readonly epochs?: number;
  readonly batch?: number;
  readonly optimizer?: OptimizerName;
  /** Evaluations in a row without a lower loss that end the job; absent: all steps are made. */
  readonly patience?: number;
}

export interface PlanRequest extends PlanWish {
  readonly header: DataHeader;
  readonly rows: { readonly train: number; readonly validation: number };
  /** 0x and 64 digits. */
  readonly seed: string;
  /** Layers of a model that was brought, and the root of its weights, in place of an architecture. */
  readonly brought?: {
    readonly layers: readonly object[];
    readonly wint?: number;
    readonly root?: string;
    /** The manifest's shorthand. */
    readonly lora?: object;
  };
}

/** The choices in plain numbers. */
interface PlainPlan {
  readonly task: Task;
  readonly architecture: string;
  readonly optimizer: OptimizerName;
  readonly learningRate: number;
  readonly warmupSteps: number;
  readonly batch: number;
  readonly epochs: number;
  readonly steps: number;
  /** Null: all steps are made. */
  readonly patience: number | null;
  readonly trainRows: number;
  readonly validationRows: number;
}

export interface Plan {
  readonly manifest: NetManifest;
  readonly plain: PlainPlan;
  /** Why, a sentence each. */
  readonly why: readonly string[];
}

interface Draft {
  readonly batch: number;
  readonly hasClip: boolean;
  /** Bits taken off the fraction of the weights. */
  readonly coarser: number;
}

const triesMax = 16;
const usualOptimizer: OptimizerName = 'adamw';
/** Of those that are chosen. */
const smallestBatch = 8;

/** @throws Rejection PLAN_ARCHITECTURE, PLAN_ROWS, PLAN_RATE, PLAN_PATIENCE, and the manifest's own where no change helps */
export function planModel(request: PlanRequest): Plan {
  const { header, rows } = request;
  if (rows.train < 1) refuse('PLAN_ROWS', 'at least one row to train on', rows.train);
  checkPatience(request);
  const arch = request.arch ?? usual(header);
  const why: string[] = [];
  const optimizer = request.optimizer ?? usualOptimizer;
  const sketch = sketchOf(request, arch, optimizer);
  const asked = request.batch ?? usualBatch(header, rows.train);
  let draft: Draft = { batch: Math.min(asked, rows.train), hasClip: arch === 'transformer', coarser: 0 };
  if (draft.batch < asked) why.push(`The batch is ${draft.batch}, for there are no more rows to train on.`);
  for (let tries = 0; ; tries++) {
    const { plain, json } = written(request, { arch, optimizer, sketch, draft });
    try {
      return { manifest: parseNetManifest(json), plain, why: [...reasons(request, arch, sketch, plain), ...why] };
    } catch (error) {
      const next = tries < triesMax && error instanceof Rejection ? adjusted(draft, optimizer, error) : null;
      if (next === null) throw error;
      why.push(next.word);
      draft = next.draft;
    }
  }
}

function checkPatience({ patience, rows, optimizer }: PlanRequest): void {
  if (patience === undefined) return;
  if (rows.validation < 1) {
    refuse(
      'PLAN_PATIENCE',
      'rows kept apart to measure on, beside --patience',
      'none',
      'keep some with --validation 10%',
    );
  }
  if (optimizer !== 'sgd-exact') return;
  const action = 'leave one of the two out: what is proved makes a number of steps that is known before';
  refuse('PLAN_PATIENCE', '--patience or --optimizer sgd-exact', 'both', action);
}

function usual({ features }: DataHeader): Architecture {
  if (features.dtype === 'tokens') return 'transformer';
  return features.shape.length === 3 && Math.min(features.shape[0]!, features.shape[1]!) >= 4 ? 'cnn' : 'mlp';
}

function sketchOf({ header, brought }: PlanRequest, arch: Architecture, optimizer: OptimizerName): Sketch {
  const { features } = header;
  const { outputs, last } = objectiveOf(header);
  if (brought !== undefined) {
    const layers = brought.layers.map((layer, i) => ({
      ...layer,
      ...(i === brought.layers.length - 1 && last),
    }));
    return { layers, words: 'the model that was brought' };
  }
  const isText = features.dtype === 'tokens';
  const fits = { transformer: isText, cnn: features.shape.length === 3, mlp: !isText, linear: !isText }[arch];
  if (!fits) {
    const action = `choose ${usual(header)}`;
    refuse('PLAN_ARCHITECTURE', `an architecture for ${features.dtype} [${features.shape.join()}]`, arch, action);
  }
  const vocab = isText ? features.vocab : 0;
  return sketches[arch]({ shape: features.shape, outputs, last, vocab, isProved: optimizer === 'sgd-exact' });
}

/** Smaller where more than a sixteenth of the rows would fill no batch. */
function usualBatch(header: DataHeader, train: number): number {
  let batch = roundBatch(header, train);
  while (batch > smallestBatch && leftOver(train, batch) > train / 16) batch /= 2;
  return batch;
}

function roundBatch({ features }: DataHeader, train: number): number {
  if (features.dtype === 'tokens') return 16;
  if (features.shape.length > 1 || train >= 20_000) return 64;
  return train < 2_000 ? 16 : 32;
}

/** Rows that fill no batch, which no step trains on. */
function leftOver(train: number, batch: number): number {
  return train % Math.min(batch, train);
}

/** Passes over the data: few rows are seen often, about so many steps in all; those of a table take little time. */
function usualEpochs({ features }: DataHeader, epochSteps: number): number {
  const isTable = features.dtype !== 'tokens' && features.shape.length === 1;
  return Math.min(60, Math.max(3, Math.ceil((isTable ? 4_000 : 1_000) / epochSteps)));
}

interface Chosen {
  readonly arch: Architecture;
  readonly optimizer: OptimizerName;
  readonly sketch: Sketch;
  readonly draft: Draft;
}

function written(
  { header, rows, seed, epochs, lr, patience, brought }: PlanRequest,
  { arch, optimizer, sketch, draft }: Chosen,
): { readonly plain: PlainPlan; readonly json: Readonly<Record<string, unknown>> } {
  const { batch, hasClip, coarser } = draft;
  const { features } = header;
  const objective = objectiveOf(header);
  const epochSteps = Math.floor(rows.train / batch);
  const passes = epochs ?? (brought === undefined ? usualEpochs(header, epochSteps) : 3);
  const steps = epochSteps * passes;
  const isText = features.dtype === 'tokens';
  const isProved = optimizer === 'sgd-exact';
  const made = optimizerOf(optimizer, {
    ...{ lr, steps, batch: batch * (isText ? features.shape[0] : 1), coarser },
    ...{ isSequence: isText, hasClip, isFineTuning: brought?.root !== undefined, isPicture: arch === 'cnn' },
  });
  const plain: PlainPlan = {
    ...{ task: objective.task, architecture: sketch.words, optimizer, learningRate: made.rate },
    ...{ warmupSteps: isProved ? 0 : warmupOf(steps), batch, epochs: passes, steps },
    patience: patience ?? null,
    ...{ trainRows: rows.train, validationRows: rows.validation },
  };
  const json = {
    ...{
      fxt: 2,
      seed,
      batch,
      steps,
      labelShape: objective.labelShape,
      ...fractionsOf(header, optimizer),
      wint: brought?.wint ?? 3,
    },
    input: isText
      ? { shape: features.shape, tokens: true }
      : { shape: features.shape, dtype: features.dtype, frac: features.frac },
    ...{ layers: sketch.layers, loss: objective.loss, optimizer: made.json },
    ...(isProved && { overflow: 'fail' }),
    ...(brought?.lora !== undefined && { lora: brought.lora }),
    ...(brought?.root !== undefined && { start: { kind: 'weights', root: brought.root } }),
    ...(rows.validation > 0 && { evaluate: { every: epochSteps, metrics: objective.metrics } }),
    ...(patience !== undefined && { stop: { metric: objective.stopMetric, patience, minimum: 1 } }),
  };
  return { plain, json };
}

/** Fractions of edges and of their errors. */
export function fractionsOf(
  { features }: DataHeader,
  optimizer: OptimizerName = usualOptimizer,
): { readonly a: number; readonly g: number } {
  if (optimizer === 'sgd-exact') return { a: 6, g: 10 };
  return { a: features.shape.length === 1 && features.dtype !== 'tokens' ? 10 : 8, g: 12 };
}

/** What helps against a refusal of the manifest; null where nothing does. */
function adjusted(
  draft: Draft,
  optimizer: OptimizerName,
  { code, detail }: Rejection,
): { readonly draft: Draft; readonly word: string } | null {
  const cause = `${code}: ${detail.expected}`;
  if (code === 'STEP_RANGE_CLIP' && draft.hasClip) {
    return {
      draft: { ...draft, hasClip: false },
      word: `Gradients are not clipped, for the net is too wide (${cause}).`,
    };
  }
  if (optimizer === 'sgd-exact' && /^STEP_RANGE_(PRODUCT|GRADIENT|ERROR|START)$/.test(code) && draft.coarser < 8) {
    return { draft: { ...draft, coarser: draft.coarser + 1 }, word: `Weights have a bit less (${cause}).` };
  }
  const helps = /^(STEP_RANGE_(GRADIENT|SCHEDULE|CLIP)|MANIFEST_SIZE)$/.test(code) && draft.batch > 1;
  if (!helps) return null;
  const batch = Math.floor(draft.batch / 2);
  return { draft: { ...draft, batch }, word: `The batch is ${batch}, for a larger one was refused (${cause}).` };
}

function reasons(
  { header: { features, label }, lr, brought }: PlanRequest,
  arch: Architecture,
  { words }: Sketch,
  plain: PlainPlan,
): readonly string[] {
  const what = {
    ...{ class: () => ('classes' in label ? `one of ${label.classes} classes` : ''), tokens: () => 'the next token' },
    ...{ vector: () => ('count' in label ? `${label.count} labels that are each true or not` : '') },
    real: () => ('count' in label ? `${label.count} number${label.count === 1 ? '' : 's'}` : ''),
  }[label.kind]();
  return [
    `A record is ${features.shape.join(' × ')} ${features.dtype === 'tokens' ? 'tokens' : `values (${features.dtype})`}, and the model answers with ${what}: the task is ${plain.task}.`,
    brought === undefined ? `The model is ${words} (${arch}).` : `The layers are those of ${words}.`,
    `${plain.trainRows} rows in batches of ${plain.batch} make ${plain.steps} steps in ${plain.epochs} pass${plain.epochs === 1 ? '' : 'es'}.`,
    ...leftWords(leftOver(plain.trainRows, plain.batch)),
    `The optimizer is ${plain.optimizer}; its rate peaks at ${plain.learningRate}` +
      (plain.warmupSteps > 0
        ? ` after ${plain.warmupSteps} step${plain.warmupSteps === 1 ? '' : 's'} and falls as a cosine.`
        : '.'),
    ...rateWords(lr, plain),
    ...(plain.patience === null
      ? []
      : [
          `The job ends early after ${plain.patience} pass${plain.patience === 1 ? '' : 'es'} without a better result on the rows kept apart; the best one is what it gives.`,
        ]),
  ];
}

/** `sgd-exact` has whole steps alone. */
function rateWords(asked: number | undefined, { learningRate: rate }: PlainPlan): readonly string[] {
  if (asked === undefined || Math.abs(rate - asked) <= 0.01 * asked) return [];
  return [`A rate of ${asked} was asked for; ${rate} is the nearest that sgd-exact has.`];
}

function leftWords(left: number): readonly string[] {
  if (left === 0) return [];
  return [
    left === 1 ? '1 row fills no batch and is not trained on.' : `${left} rows fill no batch and are not trained on.`,
  ];
}
