/** Who did what, newest first. */
import { plain } from '../../reviewer/text.js';
import { utcOf } from '../figures.js';
import { useLoad } from '../load.js';
import { Pager, pageQuery } from '../pager.js';
import { Empty, Head, Scroll, Shown } from '../parts.js';
import type { AuditRow, Page } from '../types.js';

export function Audit({ query }: { readonly query: URLSearchParams }) {
  const rows = useLoad<Page<AuditRow>>(`/v1/audit?${pageQuery(query)}`);
  return (
    <>
      <Head title="Audit">
        <button type="button" onClick={rows.reload}>
          Look again
        </button>
      </Head>
      <p class="lead">
        Every change, and every refusal for want of a key or a role. Each row holds the digest of the one before.
      </p>
      <Shown of={rows}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="Nothing yet">
              <p>What keys do stands here from the first change on.</p>
            </Empty>
          ) : (
            <section>
              <Scroll label="audit log">
                <table class="list">
                  <thead>
                    <tr>
                      <th scope="col">When</th>
                      <th scope="col">Key</th>
                      <th scope="col">Tenant</th>
                      <th scope="col">What</th>
                      <th scope="col">To what</th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map(({ id, at, actor, tenant, action, subject, code }) => (
                      <tr key={id}>
                        <td>
                          <time dateTime={at}>{utcOf(at)}</time>
                        </td>
                        <td>{plain(actor)}</td>
                        <td>{plain(tenant) || 'every tenant'}</td>
                        <td>
                          {plain(action)}
                          {code !== null && (
                            <>
                              {' '}
                              <code>{plain(code)}</code>
                            </>
                          )}
                        </td>
                        <td class="wide">
                          <code>{plain(subject)}</code>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
              <Pager to="/audit" query={query} next={nextCursor} />
            </section>
          )
        }
      </Shown>
    </>
  );
}
