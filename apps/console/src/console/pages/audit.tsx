/** Who did what, newest first. */
import { plain } from '../../reviewer/text.js';
import { Digest } from '../../ui/copy.js';
import { Field, Filters } from '../filters.js';
import { short, utcOf } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Head } from '../parts.js';
import type { AuditRow, Page } from '../types.js';

/** Of a job, a data set, a node or a person: nobody reads one whole. */
const idShape = /^(0x)?[0-9a-z]{20,}$/;

export function Audit({ query }: { readonly query: URLSearchParams }) {
  const rows = useLoad<Page<AuditRow>>(`/v1/audit?${pageQuery(query, 'actor', 'action', 'subject')}`);
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
      <Filters to="/audit" query={query}>
        <Field name="actor" label="Key" />
        <Field name="action" label="What" placeholder="job.cancel" />
        <Field name="subject" label="To what" />
      </Filters>
      <List
        of={rows}
        label="audit log"
        columns={['When', 'Key', 'Tenant', 'What', 'To what']}
        none="Nothing of this kind"
        whenNone={<p>What keys do stands here from the first change on.</p>}
        at={['/audit', query]}
        row={({ id, at, actor, tenant, action, subject, code }) => (
          <tr key={id}>
            <td>
              <time dateTime={at}>{utcOf(at)}</time>
            </td>
            <td title={actor}>{short(plain(actor))}</td>
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
              {idShape.test(subject) ? (
                <Digest value={subject} label="what it was done to" />
              ) : (
                <code>{plain(subject)}</code>
              )}
            </td>
          </tr>
        )}
      />
    </>
  );
}
