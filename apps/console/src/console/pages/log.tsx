/** The transparency log as the control plane uses it: state, witnesses, what stands there, and the proof of each entry. */
import { plain } from '../../reviewer/text.js';
import { Digest } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { State } from '../../ui/state.js';
import { utcOf } from '../figures.js';
import { Field, Filters } from '../filters.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Command, Facts, Head, Shown } from '../parts.js';
import { Link } from '../router.js';
import type { LogEntry, LogState, Page } from '../types.js';
import { words } from '../words.js';

export function Log({ query }: { readonly query: URLSearchParams }) {
  const state = useLoad<LogState>('/v1/log', 15_000);
  const entries = useLoad<Page<LogEntry>>(`/v1/log/entries?${pageQuery(query, 'job')}`, 15_000);
  return (
    <>
      <Head title="Log" />
      <p class="lead">{words.log}</p>
      <Shown of={state}>
        {(data) => (data.url === null ? <p class="since waits">{words.noLog}</p> : <About of={data} />)}
      </Shown>
      <Filters to="/log" query={query}>
        <Field name="job" label="Entries of one job" placeholder="0x…" isSearch />
      </Filters>
      <List
        of={entries}
        label="entries"
        columns={['State', 'What', 'About', 'Place', 'Brought', 'Proof']}
        none="Nothing yet"
        whenNone={<None isLogging={state.data?.url !== null} isNarrowed={query.has('job')} />}
        at={['/log', query]}
        row={(one) => <Row key={one.id} of={one} />}
      />
    </>
  );
}

function None({ isLogging, isNarrowed }: { readonly isLogging: boolean; readonly isNarrowed: boolean }) {
  if (!isLogging) {
    return (
      <p>
        Whoever runs the control plane names a log in <code>VERITRAIN_LOG_URL</code>; its README tells what stands
        beside.
      </p>
    );
  }
  if (isNarrowed) {
    return (
      <p>
        <Link to="/log">Show all entries</Link>
      </p>
    );
  }
  return <p>Policies stand here from the first job under them on, bundles from delivery on.</p>;
}

function About({ of: { url, logs, witnesses, quorum, logged, waiting } }: { readonly of: LogState }) {
  return (
    <section aria-labelledby="about-log">
      <h2 id="about-log">
        The log <State {...(waiting === 0 ? isLogged : waits)} />
      </h2>
      <Facts
        rows={[
          ['Entries go to', <code>{plain(url ?? '')}</code>],
          ['Logs of the trust policy', logs.map(({ origin }) => plain(origin)).join(', ')],
          ['Witnesses', witnesses.length === 0 ? 'none' : witnesses.map((name) => plain(name)).join(', ')],
          ['Must have seen an entry', quorum === null ? 'nobody' : plain(quorum)],
          ['Logged', String(logged)],
          ['Waiting', String(waiting)],
        ]}
      />
      <p class="note">{words.logProof}</p>
      <Command
        label="verify an entry"
        text="npx veritrain log verify entry.tlog-proof --entry entry.bin --log-policy trusted-logs.txt"
      />
    </section>
  );
}

const isLogged = { kind: 'live', mark: '●', word: 'nothing waits' };
const waits = { kind: 'warned', mark: '!', word: 'entries wait' };

function Row({
  of: { kind, subject, state, code, origin, index, createdAt, entry, proof },
}: {
  readonly of: LogEntry;
}) {
  const isBundle = kind === 'job-bundle';
  return (
    <tr>
      <td>
        {state === 'logged' && <State kind="done" mark="✓" word="logged" />}
        {state === 'waiting' && <State kind="warned" mark="!" word="waits" />}
        {state === 'nothing' && <State kind="open" mark="–" word="nothing to log" />}
        {code !== null && (
          <>
            {' '}
            <code>{plain(code)}</code>
          </>
        )}
      </td>
      <td>{isBundle ? 'a bundle' : kind === 'policy' ? 'a policy' : plain(kind)}</td>
      <th scope="row">
        {isBundle ? (
          <Link to={`/jobs/${subject}`} label={`job ${subject}`}>
            <code>{subject.slice(0, 12)}…</code>
          </Link>
        ) : (
          <Digest value={subject} label="the digest of the policy" />
        )}
      </th>
      <td>{index === null ? '–' : `entry ${index} of ${plain(origin ?? '')}`}</td>
      <td>
        <time dateTime={createdAt}>{utcOf(createdAt)}</time>
      </td>
      <td>
        {proof === null || entry === null ? '–' : <Save name={subject.slice(2, 14)} entry={entry} proof={proof} />}
      </td>
    </tr>
  );
}

interface SaveProps {
  readonly name: string;
  /** Base64. */
  readonly entry: string;
  readonly proof: string;
}

function Save({ name, entry, proof }: SaveProps) {
  return (
    <span class="saves">
      <button
        type="button"
        onClick={() => download(`${name}.tlog-proof`, new TextEncoder().encode(proof), 'text/plain')}
      >
        Save proof
      </button>
      <button
        type="button"
        onClick={() => download(`${name}.entry`, Uint8Array.from(atob(entry), bytesOf), 'application/octet-stream')}
      >
        Save entry
      </button>
    </span>
  );
}

const bytesOf = (character: string): number => character.charCodeAt(0);
