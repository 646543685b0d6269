/** When a job evaluates, by which metrics, and when it stops early (libs/step/SPEC.md §29). */
import { refuse } from '../errors.js';
import * as limits from '../limits.js';
import { JsonReader } from './reader.js';

export interface Evaluation {
  /** After steps that are multiples of it, and after the last. */
  readonly every: number;
  readonly metrics: readonly string[];
  /** Records of one block of the validation set. */
  readonly batch: number;
}

export interface Stop {
  readonly metric: string;
  /** Evaluations in a row without an improvement. */
  readonly patience: number;
  /** Least improvement, in units of the metric's numerator. */
  readonly minimum: number;
}

const rule = 'libs/step/SPEC.md §29';

/** @param known metrics of the job's loss */
export function parseEvaluation(read: JsonReader, batch: number, known: readonly string[]): Evaluation | null {
  if (!read.has('evaluate') || read.json('evaluate') === null) return null;
  const o = new JsonReader(read.json('evaluate'), 'evaluate', ['every', 'metrics', 'batch']);
  const metrics = o.list('metrics').map((metric) => {
    const found = known.find((one) => one === metric);
    return found ?? refuse('MANIFEST_METRIC', `metrics among ${known.join(', ')}`, metric, rule);
  });
  if (metrics.length < 1 || new Set(metrics).size !== metrics.length) {
    refuse('MANIFEST_METRIC', 'at least one metric, each once', metrics, rule);
  }
  const every = o.integer('every', 1, limits.stepsMax);
  return { every, metrics, batch: o.integer('batch', 1, limits.batchMax, batch) };
}

export function parseStop(read: JsonReader, evaluate: Evaluation | null): Stop | null {
  if (!read.has('stop') || read.json('stop') === null) return null;
  if (evaluate === null) return refuse('MANIFEST_STOP', 'evaluate beside stop', 'none', rule);
  const o = new JsonReader(read.json('stop'), 'stop', ['metric', 'patience', 'minimum']);
  const metric = o.word('metric', evaluate.metrics);
  return {
    metric,
    patience: o.integer('patience', 1, 1024),
    minimum: o.integer('minimum', 0, Number.MAX_SAFE_INTEGER),
  };
}
