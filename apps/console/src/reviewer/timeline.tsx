/** What happened when, as far as somebody signed for the time; and by whom each segment is vouched for. */
import type { BundleFacts, BundleVerdict } from '#libs/review';
import { duration, grouped, plain, utc } from './text.js';
import type { Standing } from './links.js';
import { loggedWords, standingWords, words } from './words.js';

const stripesMax = 48;

interface Props {
  readonly verdict: BundleVerdict;
  readonly facts: BundleFacts;
  readonly at: number;
  readonly standing: Standing;
}

export function Timeline({ verdict, facts, at, standing }: Props) {
  const { leases, workers } = facts;
  const unit = workers > 1 ? 'round' : 'segment';
  const runs = runsOf(verdict.segments);
  const moments = momentsOf(leases, verdict.log, at);
  return (
    <section aria-labelledby="time">
      <h2 id="time">{words.time}</h2>
      {moments.length > 1 && <p class="note">{words.timeText}</p>}
      {moments.length > 1 && (
        <ol class="moments">
          {moments.map(({ time, what }, index) => (
            <li key={index}>
              <time dateTime={isoOf(time)}>{utc(time)}</time>
              <span class="what">{what}</span>
            </li>
          ))}
        </ol>
      )}
      <ol class="strip" aria-label={`${unit}s, and by whom each is vouched for`}>
        {runs.slice(0, stripesMax).map(({ from, to, by, steps }) => (
          <li key={from} class={standing === 'holds' && by !== 'neither' ? 'holds' : 'open'}>
            <span class="name">{from === to ? `${unit} ${from}` : `${unit}s ${from} to ${to}`}</span>
            <span class="word">{standing === 'holds' ? by : `${by}, ${standingWords[standing]}`}</span>
            <span class="count">{grouped(steps)} steps</span>
          </li>
        ))}
        {runs.length > stripesMax && <li class="more">and {grouped(runs.length - stripesMax)} more ranges</li>}
      </ol>
    </section>
  );
}

interface Moment {
  /** Unix seconds. */
  readonly time: number;
  readonly what: string;
}

function momentsOf(leases: BundleFacts['leases'], log: BundleVerdict['log'], at: number): readonly Moment[] {
  const sessions = leases.map(({ session, from, until, isRenewal }): Moment => {
    const span =
      until > from
        ? `might work until ${utc(until)} (${duration(until - from)})`
        : `though its time to work had ended ${utc(until)}`;
    return { time: from, what: `session ${session} ${isRenewal ? 'renewed' : 'attested'}, ${span}` };
  });
  const logged = (log?.entries ?? []).map(({ kind, issuer, at: said, witnessedAt }): Moment => {
    const by = witnessedAt === null ? `so says ${plain(issuer)}` : '◆ witnessed';
    return { time: witnessedAt ?? said, what: `${loggedWords[kind] ?? plain(kind)} in the log, ${by}` };
  });
  const first = Math.min(...[...sessions, ...logged].map(({ time }) => time));
  const after = at > first && first < Infinity ? `, ${duration(at - first)} after the first` : '';
  const other = { time: at, what: `the other time of judgement${after}` };
  return [...sessions, ...logged, other].toSorted((a, b) => a.time - b.time);
}

const isoOf = (seconds: number): string | undefined => {
  const date = new Date(1000 * seconds);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

interface Run {
  readonly from: number;
  readonly to: number;
  readonly by: string;
  readonly steps: number;
}

/** Many segments as ranges of equal ones; a few as themselves. */
function runsOf(segments: BundleVerdict['segments']): readonly Run[] {
  const each = segments.map(({ stepCount, isSigned, isProved }, index) => {
    const by = isSigned && isProved ? 'receipt and proof' : isSigned ? 'receipt' : isProved ? 'proof' : 'neither';
    return { from: index, to: index, by, steps: stepCount };
  });
  if (each.length <= 16) return each;
  const runs: Run[] = [];
  for (const one of each) {
    const last = runs.at(-1);
    if (last?.by === one.by) runs.splice(-1, 1, { ...last, to: one.to, steps: last.steps + one.steps });
    else runs.push(one);
  }
  return runs;
}
