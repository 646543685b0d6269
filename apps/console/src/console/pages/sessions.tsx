/** Whose key this is, and where it is signed in: what its owner did not open, its owner ends. */
import { plain } from '../../reviewer/text.js';
import { tell } from '../api.js';
import { ago, utcOf } from '../figures.js';
import { Table } from '../list.js';
import { useLoad } from '../load.js';
import { Act, Facts, Head, Shown } from '../parts.js';
import type { Me, Session } from '../types.js';
import { words } from '../words.js';

export function Sessions({ me, onOut }: { readonly me: Me; readonly onOut: () => void }) {
  const sessions = useLoad<readonly Session[]>('/v1/me/sessions', 10_000);
  const end = (one: Session) => async (): Promise<void> => {
    await tell('DELETE', `/v1/me/sessions/${one.id}`);
    if (one.isThis) onOut();
    else sessions.reload();
  };
  return (
    <>
      <Head title="You" />
      <section aria-labelledby="whose">
        <h2 id="whose">Your key</h2>
        <Facts
          rows={[
            ['Key', <code>{plain(me.keyId)}</code>],
            ['Name', plain(me.name) || 'none'],
            ['Stands for', `${me.role} of ${plain(me.tenant ?? 'every tenant')}`],
          ]}
        />
      </section>
      <section aria-labelledby="signed-in">
        <h2 id="signed-in">Where it is signed in</h2>
        <p class="note">{words.sessions}</p>
        <Shown of={sessions}>
          {(all) => (
            <Table label="sessions" columns={['Session', 'Signed in', 'Last used', 'Ends at', 'Change']}>
              {all.map((one) => (
                <tr key={one.id}>
                  <th scope="row">
                    <code>{one.id.slice(0, 8)}</code> {one.isThis && <span class="tag live">this one</span>}
                  </th>
                  <td>
                    <time dateTime={one.createdAt}>{utcOf(one.createdAt)}</time>
                  </td>
                  <td>{ago(one.usedAt)}</td>
                  <td>{utcOf(one.endsAt)}</td>
                  <td>
                    <Act
                      label="End it"
                      question={one.isThis ? 'You are signed out here.' : 'Whoever has it is signed out at once.'}
                      yes="End this session"
                      act={end(one)}
                    />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Shown>
      </section>
    </>
  );
}
