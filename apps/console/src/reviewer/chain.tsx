/** The chain of trust, as a list of buttons: each leads to its checks. */
import type { BundleVerdict } from '#libs/review';
import type { Link } from './links.js';
import { plain, utc } from './text.js';
import { linkWords, stateWords, words } from './words.js';

interface Props {
  readonly links: readonly Link[];
  readonly verdict: BundleVerdict;
}

export function Chain({ links, verdict }: Props) {
  const show = (id: string): void => {
    const group = document.getElementById(`checks-${id}`) as HTMLDetailsElement | null;
    if (group === null) return;
    group.open = true;
    group.querySelector('summary')?.focus();
    group.scrollIntoView({ block: 'start' });
  };
  const { sessions } = verdict;
  return (
    <section aria-labelledby="chain">
      <h2 id="chain">{words.chain}</h2>
      <ol class="chain">
        {links.map(({ id, state, checks, hangsOn }) => (
          <li key={id} class={state}>
            <button type="button" onClick={() => show(id)} aria-label={labelOf(id, state, hangsOn)}>
              <span class="knot" aria-hidden="true">
                {stateWords[state].mark}
              </span>
              <span class="says">
                <span class="name">{linkWords[id].name}</span>
                <span class="word">
                  {state === 'unsupported' && hangsOn !== undefined
                    ? `unsupported: hangs on ${linkWords[hangsOn].name.toLowerCase()}`
                    : stateWords[state].word}
                </span>
                {state !== 'absent' && <span class="count">{countOf(checks.length)}</span>}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {sessions.length > 1 && (
        <p class="note">
          {sessions.length} sessions worked on this job. Each link shows the worst of them; the checks name the session.
        </p>
      )}
      <p class="band">{logText(verdict)}</p>
    </section>
  );
}

/** What the log shows by the logs and witnesses that the reader trusts. */
function logText({ checks, log }: BundleVerdict): string {
  if (log === null) {
    const isBroken = checks.some(({ id, status }) => id === 'LOG_ENTRIES' && status !== 'met');
    return isBroken ? words.logBroken : words.notLogged;
  }
  const of = plain(log.origins.join(', '));
  const times = log.entries.map(({ witnessedAt }) => witnessedAt);
  const seen = times.filter((at) => at !== null);
  if (seen.length === 0 || seen.length < times.length) {
    const isTrusted = checks.some(({ id, status }) => id === 'LOG_CHECKPOINT' && status === 'met');
    return `Log: this file says that it is in ${of}. ${isTrusted ? words.logUnwitnessed : words.logUntrusted}`;
  }
  const { independent } = log;
  const by = independent.length === 0 ? 'none independent of the log' : `independent: ${plain(independent.join(', '))}`;
  return `Log: in ${of} since ${utc(Math.max(...seen))} UTC, as enough of the witnesses you trust saw; ${by}.`;
}

function labelOf(id: Link['id'], state: Link['state'], hangsOn: Link['hangsOn']): string {
  const hangs =
    hangsOn === undefined ? '' : `: it holds by itself, but hangs on ${linkWords[hangsOn].name.toLowerCase()}`;
  return `${linkWords[id].name}, ${stateWords[state].word}${hangs}. Show its checks`;
}

const countOf = (count: number): string => (count === 1 ? '1 check' : `${count} checks`);
