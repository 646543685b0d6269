/** Keys: made here and shown once, revoked for good. */
import { useRef, useState } from 'preact/hooks';
import type { KeyView, Role } from '#libs/wire';
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { problemOf, tell, type Problem } from '../api.js';
import { ago, utcOf } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Act, Command, Fault, Head } from '../parts.js';
import type { Me, Page } from '../types.js';

interface Props {
  readonly query: URLSearchParams;
  readonly me: Me;
}

export function Keys({ query, me }: Props) {
  const keys = useLoad<Page<KeyView>>(`/v1/keys?${pageQuery(query)}`);
  const [made, setMade] = useState<string>();
  return (
    <>
      <Head title="Keys" />
      {made === undefined ? (
        <NewKey
          me={me}
          onMade={(key) => {
            setMade(key);
            keys.reload();
          }}
        />
      ) : (
        <section class="made" aria-labelledby="made">
          <h2 id="made">Your new key</h2>
          <p>It is shown now and never again: nobody stores it. Keep it where only its owner reads.</p>
          <Command label="the new key" text={made} />
          <button type="button" onClick={() => setMade(undefined)}>
            I have stored it
          </button>
        </section>
      )}
      <List
        of={keys}
        label="keys"
        columns={['State', 'Key', 'Name', 'For', 'Tenant', 'Last used', 'Ends', 'Change']}
        none="No keys yet"
        whenNone={<p>Make one above.</p>}
        at={['/keys', query]}
        row={(key) => <Row key={key.id} of={key} me={me} reload={keys.reload} />}
      />
    </>
  );
}

const purposes: Readonly<Record<Role, string>> = {
  client: 'a client',
  reviewer: 'a reviewer',
  operator: 'an operator',
  admin: 'an administrator',
};

function NewKey({ me, onMade }: { readonly me: Me; readonly onMade: (key: string) => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [role, setRole] = useState<Role>('client');
  const [problem, setProblem] = useState<Problem>();
  const roles = (Object.keys(purposes) as Role[]).filter((one) => one !== 'operator' || me.tenant === null);
  const make = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = (name: string): string => String(new FormData(form.current!).get(name) ?? '').trim();
    const days = Number(field('days'));
    const tenant = me.tenant ?? field('tenant');
    const wanted = {
      ...{ role, name: field('name'), tenant: tenant === '' ? null : tenant },
      ...(role === 'operator' && { provider: field('provider').toLowerCase() }),
      ...(field('scopes') !== '' && { scopes: field('scopes').split(' ') }),
      ...(days > 0 && { expiresAt: new Date(Date.now() + 86_400_000 * days).toISOString() }),
    };
    tell<{ key: string }>('POST', '/v1/keys', wanted).then(
      ({ key }) => {
        setProblem(undefined);
        onMade(key);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <section aria-labelledby="new-key">
      <h2 id="new-key">Make a key</h2>
      <form ref={form} class="fields-in-a-row" onSubmit={make}>
        <label>
          For
          <select value={role} onChange={({ currentTarget: { value } }) => setRole(value as Role)}>
            {roles.map((one) => (
              <option key={one} value={one}>
                {purposes[one]}
              </option>
            ))}
          </select>
        </label>
        {me.tenant === null && (
          <label>
            Tenant
            <input name="tenant" maxLength={64} required={role !== 'admin'} autocomplete="off" />
          </label>
        )}
        <label>
          Name
          <input name="name" maxLength={64} autocomplete="off" />
        </label>
        {role === 'operator' && (
          <label>
            Account that is paid
            <input name="provider" placeholder="0x…" pattern="0x[0-9a-fA-F]{40}" required autocomplete="off" />
          </label>
        )}
        <Bounds />
        <button type="submit" class="primary">
          Make the key
        </button>
      </form>
      <p class="note">
        A client has data sets, jobs and results; a reviewer reads jobs and bundles; an operator runs nodes; an
        administrator makes keys and reads the log.
      </p>
      {problem !== undefined && <Fault problem={problem} />}
    </section>
  );
}

/** What a key may of what its role may, and for how long. */
function Bounds() {
  return (
    <>
      <label>
        May
        <select name="scopes">
          <option value="">all that its role may</option>
          <option value="read">read, and nothing else</option>
          <option value="read write">read and change, but no keys</option>
        </select>
      </label>
      <label>
        Ends
        <select name="days">
          <option value="30">in 30 days</option>
          <option value="90">in 90 days</option>
          <option value="365">in a year</option>
          <option value="0">never</option>
        </select>
      </label>
    </>
  );
}

interface RowProps {
  readonly of: KeyView;
  readonly me: Me;
  readonly reload: () => void;
}

function Row({ of: key, me, reload }: RowProps) {
  return (
    <tr>
      <td>
        <KeyState of={key} />
      </td>
      <th scope="row">
        <code>{plain(key.id)}</code>
      </th>
      <td>{plain(key.name) || '–'}</td>
      <td>
        {key.role}
        {key.scopes !== null && <span class="note"> ({key.scopes.join(', ')})</span>}
      </td>
      <td>{key.tenant === null ? 'every tenant' : plain(key.tenant)}</td>
      <td>{key.lastUsedAt === null ? 'never' : ago(key.lastUsedAt)}</td>
      <td>{key.expiresAt === null ? 'never' : utcOf(key.expiresAt)}</td>
      <td>
        {key.revokedAt === null && (
          <Act
            label="Revoke"
            question={
              key.id === me.keyId
                ? 'This is your own key: you are signed out at once.'
                : 'It is refused at once, and its sessions and streams end.'
            }
            yes="Revoke it"
            act={async () => {
              await tell('POST', `/v1/keys/${key.id}/revoke`);
              reload();
            }}
          />
        )}
      </td>
    </tr>
  );
}

function KeyState({ of: { revokedAt, expiresAt } }: { readonly of: KeyView }) {
  if (revokedAt !== null) return <State kind="open" mark="–" word="revoked" />;
  if (expiresAt !== null && Date.parse(expiresAt) < Date.now()) return <State kind="open" mark="–" word="expired" />;
  return <State kind="live" mark="●" word="good" />;
}
