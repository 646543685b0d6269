/** What happened when, as far as somebody signed for the time; and by whom each segment is vouched for. */
import type { BundleFacts, BundleVerdict } from '#libs/review';
import { duration, grouped, utc } from './text.js';
import { words } from './words.js';

const stripesMax = 48;

interface Props {
  readonly verdict: BundleVerdict;
  readonly facts: BundleFacts;
  readonly at: number;
  /** Whether the link of the chain that these segments are holds, by itself and by what it hangs on. */
  readonly holds: boolean;
}

export function Timeline({ verdict, facts, at, holds }: Props) {
  const { leases } = facts;
  const runs = runsOf(verdict.segments);
  return (
    <section aria-labelledby="time">
      <h2 id="time">{words.time}</h2>
      <p class="note">{words.timeText}</p>
      {leases.length > 0 && (
        <ol class="moments">
          {leases.map(({ session, from, until, isRenewal }) => (
            <li key={session}>
              <time dateTime={new Date(1000 * from).toISOString()}>{utc(from)}</time>
              <span class="what">
                session {session} {isRenewal ? 'renewed' : 'attested'}, might work until {utc(until)} (
                {duration(until - from)})
              </span>
            </li>
          ))}
          <li>
            <time dateTime={new Date(1000 * at).toISOString()}>{utc(at)}</time>
            <span class="what">
              the other time of judgement, {duration(Math.max(0, at - leases[0]!.from))} after the first
            </span>
          </li>
        </ol>
      )}
      <ol class="strip" aria-label="segments, and by whom each is vouched for">
        {runs.slice(0, stripesMax).map(({ from, to, by, steps }) => (
          <li key={from} class={holds && by !== 'neither' ? 'holds' : 'open'}>
            <span class="name">{from === to ? `segment ${from}` : `segments ${from} to ${to}`}</span>
            <span class="word">{holds ? by : `${by}, not accepted`}</span>
            <span class="count">{grouped(steps)} steps</span>
          </li>
        ))}
        {runs.length > stripesMax && <li class="more">and {grouped(runs.length - stripesMax)} more ranges</li>}
      </ol>
    </section>
  );
}

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
