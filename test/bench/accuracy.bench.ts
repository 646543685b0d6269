/**
 * How good nets are that are trained in exact integers, beside the same nets in float32: same start, order, schedule and
 * steps. A row misses its bar where the exact net is worse by more than 0.3 points, or 1 % of a perplexity or an error.
 */
import { exactMetric } from './accuracy/exact-trainer.js';
import { floatOutputs } from './accuracy/float-trainer.js';
import { exactCount, floatCount, shown, type Count } from './accuracy/measures.js';
import { MissingData, type Part, type Task } from './accuracy/task.js';
import { tasks } from './accuracy/tasks.js';
import type { BenchOptions, BenchResult } from './result.js';

export const rows: readonly string[] = tasks.map(({ name }) => name);

/** Parts of the steps of the rows that the short form runs. */
const shares: Readonly<Record<string, number>> = {
  ...{ 'mnist-cnn': 0.05, 'mnist-mlp': 0.4, 'transformer-2': 0.05, penguins: 1, 'penguin-facts': 1 },
};
const [pointsMost, percentMost] = [0.3, 1];

export const run = ({ rows: asked }: BenchOptions): Promise<BenchResult[]> =>
  all(tasks.filter(({ name, isByName }) => (asked.length === 0 ? isByName !== true : asked.includes(name))));

/** Rows that are asked for and have no short form run whole. */
export const short = ({ rows: asked }: BenchOptions): Promise<BenchResult[]> =>
  all(
    tasks.filter(({ name }) => (asked.length === 0 ? name in shares : asked.includes(name))),
    shares,
  );

async function all(wanted: readonly Task[], sharesOf: Readonly<Record<string, number>> = {}): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const task of wanted) results.push(...(await measuredOrSkipped(task, sharesOf[task.name] ?? 1)));
  return results;
}

async function measuredOrSkipped(task: Task, share: number): Promise<BenchResult[]> {
  try {
    return await measured(task, share);
  } catch (error) {
    if (!(error instanceof MissingData)) throw error;
    const skipped = `${error.message}; test/bench/accuracy/fetch-data.sh fetches it`;
    process.stderr.write(`accuracy ${task.name}: SKIPPED: ${skipped}\n`);
    return [{ name: `${task.name}: ${task.what}`, unit: '', n: 0, min: 0, median: 0, max: 0, skipped }];
  }
}

async function measured({ name, metric, atLeast, parts }: Task, share: number): Promise<BenchResult[]> {
  const began = process.cpuUsage();
  const [exact, float]: [Count[], Count[]] = [[], []];
  for (const part of parts(share)) {
    exact.push(await exactOf(metric, part));
    float.push(floatCount(metric, part, await floatOutputs(part)));
  }
  const { user, system } = process.cpuUsage(began);
  const isPoints = metric === 'accuracy' || metric === 'label-accuracy';
  const [ours, theirs] = [shown(metric, exact), shown(metric, float)];
  const worse = isPoints ? theirs - ours : 100 * (ours / theirs - 1);
  const most = isPoints ? pointsMost : percentMost;
  const unit = isPoints ? '%' : metric;
  const least = share === 1 && atLeast !== undefined ? { atLeast, holds: ours >= atLeast } : {};
  return [
    { ...figure(`${name}: exact ${metric}`, unit, ours), ...least },
    figure(`${name}: float32 ${metric}`, unit, theirs),
    {
      ...figure(`${name}: exact is worse by`, isPoints ? 'points' : '%', worse),
      ...{ atMost: most, holds: worse <= most },
    },
    figure(`${name}: time of both`, 'CPU s', (user + system) / 1e6),
  ];
}

async function exactOf(metric: Task['metric'], part: Part): Promise<Count> {
  const { numerator, denominator } = await exactMetric(part);
  return exactCount(metric, part, numerator, denominator);
}

function figure(name: string, unit: string, value: number): BenchResult {
  const rounded = Math.round(value * 1e4) / 1e4;
  return { name, unit, n: 1, min: rounded, median: rounded, max: rounded };
}
