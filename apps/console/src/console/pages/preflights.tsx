/** What preflights found on a node's host, as its operator posted it: what would be refused, and what to do about it. */
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { utcOf } from '../figures.js';
import { useLoad } from '../load.js';
import { Ago, Command, Shown } from '../parts.js';
import type { Preflight, PreflightCheck } from '../types.js';
import { words } from '../words.js';

export function PreflightsOf({ nodeId }: { readonly nodeId: string }) {
  const preflights = useLoad<readonly Preflight[]>(`/v1/nodes/${encodeURIComponent(nodeId)}/preflight`, 10_000);
  return (
    <section aria-labelledby="preflight">
      <h2 id="preflight">Preflight, as its host says</h2>
      <p class="note">{words.preflight}</p>
      <Shown of={preflights}>
        {([newest, ...earlier]) => (
          <>
            {newest === undefined ? <p>Nothing yet. Run this on the machine:</p> : <Newest preflight={newest} />}
            <Command label="look at the machine, and post it here" text={commandFor(nodeId)} />
            {earlier.length > 0 && <Earlier all={earlier} />}
          </>
        )}
      </Shown>
    </section>
  );
}

const commandFor = (nodeId: string): string =>
  `npx veritrain host preflight \\\n  --post ${nodeId.replace(/[^0-9a-f-]/g, '')} \\\n  --url ${location.origin} --api-key FILE`;

function Newest({ preflight }: { readonly preflight: Preflight }) {
  const { checks, kind, policy, postedAt, postedBy } = preflight;
  const open = checks.filter(({ state }) => state === 'missing' || state === 'warning');
  const rest = checks.filter((check) => !open.includes(check));
  return (
    <>
      <p class="found-by">
        <Whole of={preflight} /> {kind === 'host' ? 'What guests take' : `Policy ${plain(policy ?? 'not named')}`},{' '}
        <Ago at={postedAt} />, posted with key <code>{plain(postedBy)}</code>
      </p>
      {preflight.simulated && <p class="since waits">{words.simulated}</p>}
      <h3>What to do</h3>
      {open.length === 0 ? <p class="note">Nothing: no check asks for anything.</p> : <Found checks={open} />}
      {rest.length > 0 && (
        <details>
          <summary>
            {rest.length} {rest.length === 1 ? 'check asks' : 'checks ask'} for nothing
          </summary>
          <Found checks={rest} />
        </details>
      )}
    </>
  );
}

/** Never greener than the evidence: a host that says it is fit has shown nothing. */
function Whole({ of: { checks, simulated } }: { readonly of: Preflight }) {
  const missing = checks.filter(({ state }) => state === 'missing').length;
  if (missing > 0) return <State kind="refused" mark="✕" word={`${missing} missing`} />;
  if (simulated) return <State kind="warned" mark="!" word="fit for development alone" />;
  const warned = checks.some(({ state }) => state === 'warning');
  return <State kind="warned" mark="!" word={warned ? 'says it is fit, with remarks' : 'says it is fit'} />;
}

function Found({ checks }: { readonly checks: readonly PreflightCheck[] }) {
  return (
    <ul class="appraised">
      {checks.map(({ name, state, found, expected, action }, index) => (
        <li key={index}>
          <Told state={state} />
          <span class="what">
            {plain(name)}
            <span class="found">
              Found: {plain(found) || 'nothing'}. Expected: {plain(expected) || 'nothing'}.
            </span>
            {action !== '' && <span class="to-do">What to do: {plain(action)}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Told({ state }: { readonly state: string }) {
  if (state === 'missing') return <State kind="refused" mark="✕" word="missing" />;
  if (state === 'warning') return <State kind="warned" mark="!" word="remark" />;
  return state === 'ok' ? (
    <State kind="open" mark="–" word="as it should be" />
  ) : (
    <State kind="open" mark="–" word="not needed" />
  );
}

function Earlier({ all }: { readonly all: readonly Preflight[] }) {
  return (
    <details>
      <summary>Earlier: {all.length}</summary>
      <ul class="appraised">
        {all.map((one) => (
          <li key={one.id}>
            <Whole of={one} />
            <span class="what">
              {utcOf(one.postedAt)}
              {one.checks
                .filter(({ state }) => state === 'missing')
                .map(({ name, found }, index) => (
                  <span key={index} class="found">
                    {plain(name)}: {plain(found) || 'nothing'}
                  </span>
                ))}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
