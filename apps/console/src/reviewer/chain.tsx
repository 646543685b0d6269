/** The chain of trust, as a list of buttons: each leads to its checks. */
import type { BundleVerdict } from '#libs/review';
import type { Link } from './links.js';
import { linkWords, stateWords, words } from './words.js';

export function Chain({ links, verdict }: { readonly links: readonly Link[]; readonly verdict: BundleVerdict }) {
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
      <p class="band">{words.notLogged}</p>
    </section>
  );
}

function labelOf(id: Link['id'], state: Link['state'], hangsOn: Link['hangsOn']): string {
  const hangs =
    hangsOn === undefined ? '' : `: it holds by itself, but hangs on ${linkWords[hangsOn].name.toLowerCase()}`;
  return `${linkWords[id].name}, ${stateWords[state].word}${hangs}. Show its checks`;
}

const countOf = (count: number): string => (count === 1 ? '1 check' : `${count} checks`);
