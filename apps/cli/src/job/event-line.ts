/** One line for people about one event of a job. */
import type { Metric } from '#attestation/records';
import { claim, type EdgeFigures, type ServerEvent } from '#libs/client/api';
import { visibleText } from '#libs/review/text';
import { exactWords } from '../model/metric-line.js';
import { edgeWords } from './edge-words.js';

/** What 1 of a loss's sum is, in nats (libs/step/SPEC.md §29). */
const lossScale = 2 ** -16;

/** One line, whatever stands in the event: nodes and the control plane chose its words. */
export function eventLine(event: ServerEvent): string {
  return visibleText(wordsOf(event));
}

function wordsOf({ type, data }: ServerEvent): string {
  const event = data as Record<string, number | string | null>;
  const { edges } = data as { readonly edges?: readonly EdgeFigures[] | null };
  switch (type) {
    case 'state':
      return `${event.from === null ? '' : `${event.from} → `}${event.to}${event.code === null ? '' : ` (${claim(speakerOf(data))}${event.code})`}`;
    case 'segment-failed':
    case 'proof-failed':
      return `${type} (${claim(event.saidBy)}${event.code})`;
    case 'progress':
      return progressLine(event, edges);
    case 'evaluation':
      return evaluationLine(data as Evaluation);
    case 'checkpoint':
      return `checkpoint at step ${event.step}`;
    case 'renewed':
      return `attested again (${event.tier}), until ${event.attestedUntil}`;
    case 'segment':
      return `round ${event.round}: worker ${event.worker} ${event.done ? 'is done' : `at node ${String(event.nodeId).slice(0, 8)}`}`;
    case 'training':
      return `round ${event.round}: worker ${event.worker}  ${progressLine(event, edges)}`;
    case 'proving':
      return `segment ${event.index}: ${event.phase}, ${event.percent} %${event.etaSeconds === null ? '' : `, ${event.etaSeconds} s left`}`;
    case 'proof':
      return `segment ${event.index} is proved`;
    case 'escrow':
      return `escrow ${event.escrowState ?? 'changed'}`;
    case 'delivery':
      return 'the encrypted result is at the control plane';
    default:
      return type;
  }
}

interface Evaluation {
  readonly step: number;
  /** Exact, decimal. */
  readonly metrics: readonly { readonly metric: string; readonly numerator: string; readonly denominator: string }[];
}

/** What the counts of a metric are (attestation/SPEC.md §9.10). */
const countsOf: Readonly<Record<Exclude<Metric, 'loss'>, string>> = {
  accuracy: 'rows right of rows with a label',
  'exact-match': 'records with every label right of records',
  'label-accuracy': 'labels right of labels',
  sse: 'squared errors by labels; 1 is the square of the smallest step of the output',
  sae: 'absolute errors by labels; 1 is the smallest step of the output',
  auc: 'pairs in order of pairs, each counted twice',
};
const counted = new Map(Object.entries(countsOf));

/** What the node says it measured on the validation set; of a loss the unit is the same for all data. */
function evaluationLine({ step, metrics }: Evaluation): string {
  const figures = metrics.map(({ metric, numerator, denominator }) => {
    const counts = `${numerator}/${denominator}`;
    if (metric === 'loss') {
      const nats = (Number(numerator) / Number(denominator)) * lossScale;
      const exact = exactWords({ metric, name: metric, numerator, denominator, scale: lossScale });
      return `loss ${nats.toPrecision(4)} nats a row (${exact})`;
    }
    const what = counted.get(metric);
    return `${metric} ${counts}${what === undefined ? '' : ` (${what})`}`;
  });
  return [`validation at step ${step}`, ...figures].join('  ');
}

function speakerOf(data: unknown): unknown {
  return (data as { reason?: { saidBy?: unknown } | null }).reason?.saidBy;
}

/** A node without a TEE tells its steps alone. */
function progressLine(
  { step, of, loss, accuracy, samplesPerSecond }: Record<string, number | string | null>,
  edges: readonly EdgeFigures[] | null | undefined,
): string {
  const figures = [`step ${step} of ${of}`];
  if (loss !== null) figures.push(`loss ${Number(loss).toFixed(4)}`);
  if (accuracy !== null) figures.push(`accuracy ${(100 * Number(accuracy)).toFixed(1)} %`);
  if (samplesPerSecond !== null) figures.push(`${Number(samplesPerSecond).toLocaleString('en')} samples/s`);
  return [...figures, ...edgeWords(edges ?? [])].join('  ');
}
