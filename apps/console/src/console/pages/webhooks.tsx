/** Where a tenant is told of its jobs: the addresses, what was sent there, and what became of it. */
import { useRef, useState } from 'preact/hooks';
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { problemOf, tell, type Problem } from '../api.js';
import { ago, short, utcOf } from '../figures.js';
import { jobStates, wordOf } from '../job-state.js';
import { Table } from '../list.js';
import { useLoad } from '../load.js';
import { Act, Ago, Command, Empty, Fault, Head, Shown } from '../parts.js';
import { go, Link } from '../router.js';
import type { Delivery, Webhook } from '../types.js';
import { outcomes, words } from '../words.js';

export function Webhooks() {
  const hooks = useLoad<readonly Webhook[]>('/v1/webhooks', 10_000);
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Head title="Webhooks" />
      <p class="lead">{words.webhooks}</p>
      {secret === undefined ? (
        <NewHook
          onMade={(made) => {
            setSecret(made);
            hooks.reload();
          }}
        />
      ) : (
        <section class="made" aria-labelledby="made">
          <h2 id="made">The secret of your webhook</h2>
          <p>{words.secretOnce}</p>
          <Command label="the secret" text={secret} />
          <button type="button" onClick={() => setSecret(undefined)}>
            I have stored it
          </button>
        </section>
      )}
      <Shown of={hooks}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No webhooks yet">
              <p>Add an address above; it is told of the next change.</p>
            </Empty>
          ) : (
            <section>
              <Table label="webhooks" columns={['State', 'Address', 'Told of', 'Made', 'Change']}>
                {all.map((one) => (
                  <Row key={one.id} of={one} />
                ))}
              </Table>
            </section>
          )
        }
      </Shown>
    </>
  );
}

function Row({ of: { id, url, states, createdAt, disabledAt } }: { readonly of: Webhook }) {
  return (
    <tr>
      <td>
        {disabledAt === null ? (
          <State kind="live" mark="●" word="on" />
        ) : (
          <State kind="refused" mark="✕" word="gone, it says" />
        )}
      </td>
      <th scope="row" class="wide">
        <Link to={`/webhooks/${id}`}>{plain(url)}</Link>
      </th>
      <td>{states.length === 0 ? 'every change' : states.map(wordOf).join(', ')}</td>
      <td>
        <Ago at={createdAt} />
      </td>
      <td>
        <Remove id={id} />
      </td>
    </tr>
  );
}

function Remove({ id }: { readonly id: string }) {
  return (
    <Act
      label="Remove"
      question="What was to be sent there is dropped."
      yes="Remove it"
      act={async () => {
        await tell('DELETE', `/v1/webhooks/${id}`);
        go('/webhooks');
      }}
    />
  );
}

function NewHook({ onMade }: { readonly onMade: (secret: string) => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [problem, setProblem] = useState<Problem>();
  const make = (event: SubmitEvent): void => {
    event.preventDefault();
    const fields = new FormData(form.current!);
    const state = String(fields.get('state') ?? '');
    const wanted = { url: String(fields.get('url') ?? '').trim(), ...(state !== '' && { states: state.split(' ') }) };
    tell<{ secret: string }>('POST', '/v1/webhooks', wanted).then(
      ({ secret }) => {
        setProblem(undefined);
        onMade(secret);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <section aria-labelledby="new-hook">
      <h2 id="new-hook">Add an address</h2>
      <form ref={form} class="fields-in-a-row" onSubmit={make}>
        <label>
          Address
          <input name="url" type="url" placeholder="https://…" maxLength={1024} required autocomplete="off" />
        </label>
        <label>
          Told of
          <select name="state">
            <option value="">every change</option>
            <option value="delivered settled">delivery and payment</option>
            <option value="refused failed expired cancelled disputed">jobs that go wrong</option>
            {jobStates.map((one) => (
              <option key={one} value={one}>
                {wordOf(one)}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Add
        </button>
      </form>
      {problem !== undefined && <Fault problem={problem} />}
    </section>
  );
}

export function WebhookPage({ id }: { readonly id: string }) {
  const hooks = useLoad<readonly Webhook[]>('/v1/webhooks');
  const url = hooks.data?.find((one) => one.id === id)?.url;
  const deliveries = useLoad<readonly Delivery[]>(`/v1/webhooks/${encodeURIComponent(id)}/deliveries`, 5000);
  return (
    <>
      <p class="crumbs">
        <Link to="/webhooks">Webhooks</Link> / <span class="wrap">{plain(url ?? id)}</span>
      </p>
      <Head title="What was sent">
        <Remove id={id} />
      </Head>
      <p class="lead">{words.deliveries}</p>
      <Shown of={deliveries}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="Nothing yet">
              <p>The next change of a job of yours is told.</p>
            </Empty>
          ) : (
            <section>
              <Table
                label="deliveries"
                columns={['State', 'What it told', 'Attempts', 'Last answer', 'Made', 'Change']}
              >
                {all.map((one) => (
                  <Sent key={one.id} hook={id} of={one} reload={deliveries.reload} />
                ))}
              </Table>
            </section>
          )
        }
      </Shown>
    </>
  );
}

/** What a body of ours says: the job and its new state. */
function changeIn(body: string): { readonly state: string; readonly job: string } | null {
  try {
    const { type, data } = JSON.parse(body) as { type?: unknown; data?: { jobId?: unknown } };
    if (typeof type !== 'string' || typeof data?.jobId !== 'string') return null;
    return { state: type.replace(/^job\./, ''), job: data.jobId };
  } catch {
    return null;
  }
}

interface SentProps {
  readonly hook: string;
  readonly of: Delivery;
  readonly reload: () => void;
}

function Sent({
  hook,
  of: { id, messageId, attempts, createdAt, nextAt, endedAt, lastOutcome, body },
  reload,
}: SentProps) {
  const said = changeIn(body);
  const why = Object.hasOwn(outcomes, lastOutcome ?? '') ? outcomes[lastOutcome ?? ''] : undefined;
  const isDone = endedAt !== null && /^2\d\d$/.test(lastOutcome ?? '');
  return (
    <tr>
      <td>
        {isDone ? (
          <State kind="done" mark="✓" word="delivered" />
        ) : endedAt === null ? (
          <State kind="open" mark="○" word={nextAt === null ? 'waits' : `next ${ago(nextAt)}`} />
        ) : (
          <State kind="refused" mark="✕" word="given up" />
        )}
      </td>
      <th scope="row" class="wide">
        <details>
          <summary>
            {said === null ? plain(messageId) : `${wordOf(plain(said.state))}, job ${short(plain(said.job))}`}
          </summary>
          {said !== null && (
            <p class="note">
              {plain(messageId)} of <Link to={`/jobs/${encodeURIComponent(said.job)}`}>this job</Link>
            </p>
          )}
          <pre class="payload" tabIndex={0} role="region" aria-label={`body of ${messageId}`}>
            <code>{plain(body)}</code>
          </pre>
        </details>
        {why !== undefined && <span class="found">{why}</span>}
      </th>
      <td class="number">{attempts}</td>
      <td>{lastOutcome === null ? 'none yet' : <code>{plain(lastOutcome)}</code>}</td>
      <td>
        <time dateTime={createdAt}>{utcOf(createdAt)}</time>
      </td>
      <td>
        {endedAt !== null && (
          <Act
            label="Send again"
            act={async () => {
              await tell('POST', `/v1/webhooks/${hook}/deliveries/${id}/retry`);
              reload();
            }}
          />
        )}
      </td>
    </tr>
  );
}
