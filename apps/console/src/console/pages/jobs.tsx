/** The jobs of a tenant, newest first, as they are now. */
import { useState } from 'preact/hooks';
import { ago, short } from '../figures.js';
import { jobStates, JobState, wordOf } from '../job-state.js';
import { useLoad } from '../load.js';
import { Pager, pageQuery } from '../pager.js';
import { Command, Empty, Head, Scroll, Shown } from '../parts.js';
import { grouped, plain } from '../../reviewer/text.js';
import { go, Link } from '../router.js';
import type { Job, Me, Page } from '../types.js';

const everyMs = 2000;

export function Jobs({ query, me }: { readonly query: URLSearchParams; readonly me: Me }) {
  const [isPaused, setPaused] = useState(false);
  const jobs = useLoad<Page<Job>>(`/v1/jobs?${pageQuery(query, 'state')}`, isPaused ? undefined : everyMs);
  const state = query.get('state') ?? '';
  return (
    <>
      <Head title="Jobs">
        {me.role === 'client' && (
          <Link to="/new" class="button primary">
            New job
          </Link>
        )}
      </Head>
      <div class="controls">
        <label>
          state
          <select
            value={state}
            onChange={({ currentTarget: { value } }) => go(value === '' ? '/jobs' : `/jobs?state=${value}`)}
          >
            <option value="">all</option>
            {jobStates.map((name) => (
              <option key={name} value={name}>
                {wordOf(name)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          <span aria-hidden="true" class={isPaused ? 'dot' : 'dot live'} />
          {isPaused ? 'Paused: go on' : 'Live: pause'}
        </button>
      </div>
      <Shown of={jobs}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <None isFiltered={state !== ''} role={me.role} />
          ) : (
            <Table items={items} next={nextCursor} query={query} />
          )
        }
      </Shown>
    </>
  );
}

function None({ isFiltered, role }: { readonly isFiltered: boolean; readonly role: string }) {
  if (isFiltered) {
    return (
      <Empty title="No job is in this state">
        <p>
          <Link to="/jobs">Show all jobs</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet">
      {role === 'client' ? (
        <>
          <p>
            <Link to="/new">Plan one here</Link>, or try the smallest there is:
          </p>
          <Command label="run an example" text="npx veritrain example run tables" />
        </>
      ) : (
        <p>They appear here when a client of this tenant submits one.</p>
      )}
    </Empty>
  );
}

interface TableProps {
  readonly items: readonly Job[];
  readonly next: string | null;
  readonly query: URLSearchParams;
}

function Table({ items, next, query }: TableProps) {
  return (
    <section>
      <Scroll label="jobs">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Job</th>
              <th scope="col">Progress</th>
              <th scope="col">Loss</th>
              <th scope="col">Vouched for by</th>
              <th scope="col">Attested</th>
              <th scope="col">Submitted</th>
            </tr>
          </thead>
          <tbody>
            {items.map((job) => (
              <Row key={job.id} job={job} />
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pager to="/jobs" query={query} next={next} />
    </section>
  );
}

function Row({ job }: { readonly job: Job }) {
  const { progress } = job;
  return (
    <tr>
      <td>
        <JobState state={job.state} />
      </td>
      <th scope="row">
        <Link to={`/jobs/${job.id}`} label={`job ${job.id}`}>
          <code>{short(job.id)}</code>
        </Link>
      </th>
      <td>
        {job.code === null ? (
          <span class="done">
            <progress max={job.steps} value={stepOf(job)} aria-label={`progress of job ${short(job.id)}`} />
            {share(job)}
          </span>
        ) : (
          <code>{plain(job.code)}</code>
        )}
      </td>
      <td class="number">{progress === null || progress.loss === null ? '–' : progress.loss.toFixed(4)}</td>
      <td>{job.assurance}</td>
      <td>{job.attestedUntil === null ? '–' : `until ${job.attestedUntil.slice(11, 16)} UTC`}</td>
      <td>
        <time dateTime={job.createdAt}>{ago(job.createdAt)}</time>
      </td>
    </tr>
  );
}

/** What is delivered has trained to its end, or to where a rule ended it. */
function stepOf({ state, steps, progress }: Job): number {
  return state === 'delivered' || state === 'settled' ? steps : (progress?.step ?? 0);
}

function share(job: Job): string {
  return `${Math.floor((100 * stepOf(job)) / job.steps)} % of ${grouped(job.steps)} steps`;
}
