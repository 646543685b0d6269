/** How far the training is, and what the node reports of it. */
import type { Metric } from '#attestation/records';
import { duration, grouped, plain } from '../../reviewer/text.js';
import { utcOf } from '../figures.js';
import { Curve } from '../../ui/curve.js';
import { isAtWork, isDelivered, isEnd } from '../job-state.js';
import { isToldTo, type Evaluation, type Story } from '../live.js';
import { secondsLeft, segmentSteps, trainedSteps } from '../pace.js';
import type { Escrow, Job, Progress } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly job: Job;
  readonly story: Story;
  /** Undefined before it is known. */
  readonly escrow: Pick<Escrow, 'segments' | 'upTo'> | undefined;
}

const boxesMax = 200;

export function Training({ job, story, escrow }: Props) {
  const last = story.progress.at(-1) ?? job.progress;
  const told = Math.max(last?.step ?? 0, story.checkpoints.at(-1) ?? 0);
  const step = isDelivered(job.state) ? trainedSteps(job.steps, story.checkpoints, escrow) : told;
  const loss = story.progress.filter((one) => one.loss !== null).map((one) => ({ x: one.step, y: one.loss! }));
  const accuracy = story.progress
    .filter((one) => one.accuracy !== null)
    .map((one) => ({ x: one.step, y: 100 * one.accuracy! }));
  const measured = measuredOf(story.evaluations);
  return (
    <section aria-labelledby="training">
      <h2 id="training">Training {isAtWork(job.state) && <Live story={story} />}</h2>
      <progress max={job.steps} value={step ?? told} aria-label="progress" />
      <p class="said-step">{sentence(job, step, last, secondsLeft(story, job.steps))}</p>
      {escrow !== undefined && <Segments job={job} story={story} escrow={escrow} />}
      {loss.length > 1 && <Figure title={words.loss} points={loss} unit="" />}
      {accuracy.length > 1 && <Figure title={words.accuracy} points={accuracy} unit={share.unit} />}
      {measured.map(({ metric, points, unit }) => (
        <Figure key={metric} title={titleOf(metric)} points={points} unit={unit} dots />
      ))}
      <p class="note">{curveWords(job, story, loss.length > 1 || measured.length > 0)}</p>
    </section>
  );
}

function Live({ story: { isLive, awayAt } }: { readonly story: Story }) {
  if (awayAt !== null) return <span class="tag reported">not live since {utcOf(awayAt)}</span>;
  return isLive ? <span class="tag live">live</span> : null;
}

function curveWords({ state, progress }: Job, story: Story, isCurve: boolean): string {
  if (isCurve) return words.reported;
  if (story.awayAt !== null) return words.curveAway;
  if (!isToldTo(state, story)) return words.loadingCurve;
  if (isAtWork(state) && typeof progress?.loss === 'number') return words.curveComing;
  return isEnd(state) && state !== 'settled' ? words.noFigures : words.noCurve;
}

function sentence(job: Job, step: number | null, last: Progress | null, left: number | null): string {
  if (step === null) return 'It ended early.';
  const of = `Step ${grouped(step)} of ${grouped(job.steps)}`;
  if (isDelivered(job.state) && step < job.steps) return `It ended early: ${of.toLowerCase()}.`;
  if (!isAtWork(job.state)) return `${of}.`;
  const speed = last?.samplesPerSecond ?? null;
  const said = [
    ...(speed === null ? [] : [`${grouped(Math.round(speed))} rows a second`]),
    ...(left === null || step >= job.steps ? [] : [`about ${duration(Math.max(1, Math.round(left)))} left`]),
  ];
  return `${[of, ...said].join(', ')}.`;
}

interface FigureProps {
  readonly title: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly unit: string;
  readonly dots?: boolean;
}

function Figure({ title, points, unit, dots = false }: FigureProps) {
  const ordered = points.toSorted((a, b) => a.x - b.x);
  const [first, last] = [ordered[0]!, ordered.at(-1)!];
  const said = (y: number): string => `${Number(y.toPrecision(4))}${unit}`;
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong> <span class="tag reported">reported</span> <span class="now">{said(last.y)}</span>
      </figcaption>
      <Curve
        points={ordered}
        dots={dots}
        bounds={unit === share.unit ? shareBounds : undefined}
        label={`${title}: from ${said(first.y)} at step ${first.x} to ${said(last.y)} at step ${last.x}`}
      />
    </figure>
  );
}

function titleOf(metric: string): string {
  const name = plain(metric);
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)} on the validation set`;
}

interface Measured {
  readonly metric: string;
  readonly unit: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** Exact fractions as the number that a curve needs. */
function measuredOf(evaluations: readonly Evaluation[]): readonly Measured[] {
  const names = [...new Set(evaluations.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))];
  return names
    .map((metric) => {
      const { times, unit } = readAs(metric);
      const points = evaluations.flatMap(({ step, metrics }) => {
        const one = metrics.find((own) => own.metric === metric);
        const y = one === undefined ? NaN : (times * Number(one.numerator)) / Number(one.denominator);
        return Number.isFinite(y) ? [{ x: step, y }] : [];
      });
      return { metric, unit, points };
    })
    .filter(({ points }) => points.length > 1);
}

interface Reading {
  readonly times: number;
  readonly unit: string;
}

const share: Reading = { times: 100, unit: ' %' };
const shareBounds = [0, 100] as const;
const asItIs: Reading = { times: 1, unit: '' };

/**
 * A share as a percentage, a mean loss in nats, others as they are: attestation/SPEC.md §9.10. Of that table this has the
 * type alone: its values would bring the whole of the records with the first page.
 */
const readings: Readonly<Record<Metric, Reading>> = {
  ...{ accuracy: share, 'exact-match': share, 'label-accuracy': share, auc: share },
  ...{ loss: { times: 2 ** -16, unit: '' }, sse: asItIs, sae: asItIs },
};

const readAs = (metric: string): Reading => new Map<string, Reading>(Object.entries(readings)).get(metric) ?? asItIs;

interface SegmentsProps {
  readonly job: Job;
  readonly story: Story;
  readonly escrow: Pick<Escrow, 'segments' | 'upTo'>;
}

/** A box for each segment: signed, proved, both, at work or to do. */
function Segments({ job, story, escrow: { segments, upTo } }: SegmentsProps) {
  // Whole segments count right by the least that a segment can be, until the first checkpoint tells its length.
  const least = Math.ceil(job.steps / segments);
  const each = segmentSteps(job.steps, segments, story.checkpoints);
  const hasReceipts = job.assurance === 'tee' || job.assurance === 'tee+zk';
  // A segment counts when its checkpoint is kept: what is at work is neither signed nor safe.
  const counted = isDelivered(job.state)
    ? upTo || segments
    : Math.floor((story.checkpoints.at(-1) ?? 0) / (each ?? least));
  const done = Math.min(segments, counted);
  const proved = story.proofs.size;
  const said = [
    `${grouped(done)} of ${grouped(segments)} segments ${hasReceipts ? 'trained and signed' : 'trained'}`,
    proved > 0 ? `${grouped(proved)} proved` : '',
  ].filter(Boolean);
  return (
    <div class="segments">
      <p>
        {said.join(', ')}
        {each === null ? '' : `; each is ${grouped(each)} ${each === 1 ? 'step' : 'steps'}`}
        {each !== null && job.steps % each > 0 ? `, the last ${grouped(job.steps % each)}` : ''}.
      </p>
      {segments <= boxesMax && (
        <ol class="boxes" aria-hidden="true">
          {Array.from({ length: segments }, (_, index) => (
            <li key={index} class={kindOf(index, done, story.proofs, isAtWork(job.state))} />
          ))}
        </ol>
      )}
    </div>
  );
}

function kindOf(index: number, done: number, proofs: ReadonlySet<number>, works: boolean): string {
  if (proofs.has(index)) return 'proved';
  if (index < done) return 'trained';
  return index === done && works ? 'now' : 'open';
}
