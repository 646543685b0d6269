/** What happened to a job, newest first, a sentence each. */
import { grouped, plain } from '../../reviewer/text.js';
import { utcOf } from '../figures.js';
import { wordOf } from '../job-state.js';
import type { Moment, Story } from '../live.js';
import { words } from '../words.js';

const shownMax = 40;

export function Moments({ story: { moments, awayAt } }: { readonly story: Story }) {
  const all = together(moments);
  const shown = all.slice(-shownMax).toReversed();
  return (
    <section aria-labelledby="happened">
      <h2 id="happened">What happened</h2>
      {shown.length === 0 ? (
        <p class="note">{awayAt === null ? 'Loading what happened…' : words.storyAway}</p>
      ) : (
        <ol class="moments">
          {shown.map((line) => (
            <li key={line.moment.id}>
              <time dateTime={line.moment.at}>{utcOf(line.moment.at)}</time>
              <span class="what">{plain(sentence(line.moment) + beforeIt(line))}</span>
            </li>
          ))}
        </ol>
      )}
      {all.length > shownMax && (
        <p class="note">
          The newest {shownMax} of {grouped(all.length)}; the command line prints them all.
        </p>
      )}
    </section>
  );
}

interface Line {
  readonly moment: Moment;
  /** Checkpoints that came right before this one, and the step of the first of them. */
  readonly before: number;
  readonly from: number;
}

/** A long job has one checkpoint after the other: those in a row are one line, with the newest. */
function together(moments: readonly Moment[]): readonly Line[] {
  const lines: Line[] = [];
  for (const moment of moments) {
    const last = lines.at(-1);
    if (moment.type === 'checkpoint' && last?.moment.type === 'checkpoint') {
      lines[lines.length - 1] = { moment, before: last.before + 1, from: last.from };
    } else lines.push({ moment, before: 0, from: Number(moment.data['step']) });
  }
  return lines;
}

function beforeIt({ before, from }: Line): string {
  if (before === 0) return '';
  return before === 1
    ? `; one before it, after step ${grouped(from)}`
    : `; ${grouped(before)} before it, from step ${grouped(from)} on`;
}

function sentence({ type, data }: Moment): string {
  const text = (name: string): string => (data[name] === null || data[name] === undefined ? '' : String(data[name]));
  switch (type) {
    case 'state':
      return changeOf(text('from'), text('to'), text('code'));
    case 'checkpoint':
      return `A checkpoint is kept after step ${grouped(Number(data['step']))}`;
    case 'renewed':
      return `The policy accepted new evidence: it counts until ${utcOf(text('attestedUntil'))}`;
    case 'escrow':
      return `The escrow is ${text('escrowState') || 'changed'}`;
    case 'delivery':
      return 'The encrypted result is here';
    case 'segment':
      return data['done'] === true || data['nodeId'] !== undefined
        ? `Round ${text('round')}: worker ${text('worker')} at node ${text('nodeId').slice(0, 8)}`
        : `Round ${text('round')}: worker ${text('worker')} is done`;
    case 'proof':
      return `Segment ${text('index')} is proved`;
    case 'segment-failed':
    case 'proof-failed':
      return `Segment ${text('index')} failed: ${text('code')}, as the node says`;
    default:
      return type;
  }
}

const changes: Readonly<Record<string, string>> = {
  assigned: 'A node took the job',
  attested: 'The policy of the job accepted the evidence of the node',
  keyed: 'The key broker released the data key to it',
  running: 'The training began',
  delivered: 'The result was delivered',
  settled: 'The chain paid for it',
  paused: 'It was paused',
};

function changeOf(from: string, to: string, code: string): string {
  if (from === '') return 'It was submitted';
  const why = code === '' ? '' : ` (${code})`;
  if (to === 'submitted') return `It waits for a node again${why}`;
  return `${changes[to] ?? `It ended: ${wordOf(to)}`}${why}`;
}
