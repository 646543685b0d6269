/**
 * What leaves the enclave of a run while it goes on, as the job spec says (enclave/SPEC.md, progress). Figures are
 * of whole windows at fixed places, so starting again elsewhere tells nothing that the windows do not.
 */
import { parseEvaluation, progressOf } from '#attestation/records';
import { addCounts, divideSteps, orderSize, type EdgeCounts } from '#libs/step';
import { countedEdgesMax, type EventOf } from '#libs/wire/channel';
import { toldEvaluations, type Chain } from './chain.js';
import type { ReadyJob } from './ready-job.js';

/** Over some steps that follow each other: means, and counts on edges. */
interface Figures {
  readonly loss: number;
  readonly accuracy: number;
  readonly edges: readonly EdgeCounts[];
}

const nothing: Figures = { loss: 0, accuracy: 0, edges: [] };

export interface ProgressGate {
  /** Steps that no chunk of training may reach over; absent: chunks end anywhere. */
  readonly window?: number;
  /** @returns what may be told of the window that ends with step `to`, if anything @param count steps of the chunk */
  pass(to: number, count: number, figures: Figures): Figures | null;
}

export function progressGate({
  spec,
  manifest,
  examples,
}: Pick<ReadyJob, 'spec' | 'manifest' | 'examples'>): ProgressGate {
  const every = progressOf(spec);
  if (every === 'step') return { pass: (_to, _count, figures) => figures };
  if (every === 'none') return { pass: () => null };
  const window =
    every === 'segment' ? divideSteps(manifest, spec).segmentSteps : orderSize(manifest, examples.count).epochSteps;
  return windowed(window, every === 'segment' ? manifest.steps : Infinity);
}

/** @param end where a shorter window may end */
function windowed(window: number, end: number): ProgressGate {
  let seen = 0;
  let last = 0;
  let sum = nothing;
  return {
    window,
    pass(to, count, { loss, accuracy, edges }) {
      const from = to - count;
      if (from % window === 0 || from !== last) {
        seen = from % window === 0 ? 0 : -Infinity;
        sum = nothing;
      }
      last = to;
      seen += count;
      sum = {
        loss: sum.loss + loss * count,
        accuracy: sum.accuracy + accuracy * count,
        edges: addCounts(sum.edges, edges),
      };
      const isWhole = to % window === 0 || to === end;
      return isWhole && seen > 0 ? { ...sum, loss: sum.loss / seen, accuracy: sum.accuracy / seen } : null;
    },
  };
}

/** Of a net with more edges than an event has room for, those where most lies at an end. */
export function toldEdges(edges: readonly EdgeCounts[]): readonly EdgeCounts[] {
  if (edges.length <= countedEdgesMax) return edges;
  const atEnds = ({ values, saturatedValues, errors, saturatedErrors }: EdgeCounts): number =>
    (saturatedValues + saturatedErrors) / (values + errors);
  const told = new Set(edges.toSorted((a, b) => atEnds(b) - atEnds(a)).slice(0, countedEdgesMax));
  return edges.filter((edge) => told.has(edge));
}

/** Tells evaluations while the job goes on, as its `progress` allows; all of them leave with the result. */
export interface EvaluationTeller {
  /** @param step done by now */
  tell(chain: Chain, step: number): void;
}

/**
 * With `none` nothing is told; else an evaluation is told once the steps up to it are whole windows of progress.
 *
 * @param known evaluations of the checkpoint that the job goes on from, which have been told
 */
export function evaluationTeller(
  { spec, manifest, examples }: Pick<ReadyJob, 'spec' | 'manifest' | 'examples'>,
  known: Chain,
  send: (event: Omit<EventOf<'evaluation'>, 'type'>) => void,
): EvaluationTeller {
  const every = progressOf(spec);
  const epoch = (): number => orderSize(manifest, examples.count).epochSteps;
  const window = {
    step: () => 1,
    segment: () => divideSteps(manifest, spec).segmentSteps,
    epoch,
    none: () => Infinity,
  }[every]();
  let told = known.evaluations.length;
  return {
    tell(chain, step) {
      const isWhole = step % window === 0 || (every !== 'none' && step === manifest.steps);
      if (!isWhole) return;
      for (const evaluated of toldEvaluations(chain).slice(told)) {
        send({ step: parseEvaluation(evaluated.statement).step, evaluated });
      }
      told = chain.evaluations.length;
    },
  };
}
