/** The jobs of a tenant, newest first, as they are now. */
import { useMemo, useState } from 'preact/hooks';
import { useFeed } from '../feed.js';
import { short, utcOf } from '../figures.js';
import { Choice, Field, Filters } from '../filters.js';
import { isEnd, jobStates, JobState, wordOf } from '../job-state.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Ago, Command, Head } from '../parts.js';
import { plain } from '../../reviewer/text.js';
import { Link } from '../router.js';
import { exampleCommand } from './commands.js';
import { Trained } from './trained.js';
import type { Job, Me, Node, Page } from '../types.js';
import { words } from '../words.js';

/** Where no stream is to be had. */
const everyMs = 15_000;

const sinceOf: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };

/** What a person chose, as the API takes it: `week` is a time of the moment. */
function asked(query: URLSearchParams): URLSearchParams {
  const made = new URLSearchParams(query);
  const days = sinceOf[query.get('since') ?? ''];
  if (days === undefined) made.delete('since');
  else made.set('since', new Date(Math.floor(Date.now() / 60_000) * 60_000 - 86_400_000 * days).toISOString());
  return made;
}

export function Jobs({ query, me }: { readonly query: URLSearchParams; readonly me: Me }) {
  const [isPaused, setPaused] = useState(false);
  const path = useMemo(() => `/v1/jobs?${pageQuery(asked(query), 'state', 'assurance', 'since', 'search')}`, [query]);
  const jobs = useLoad<Page<Job>>(path, isPaused ? undefined : everyMs);
  const simulation = useSimulation();
  const feed = useFeed(!isPaused, jobs.reload);
  const isFiltered = ['state', 'assurance', 'since', 'search'].some((name) => query.has(name));
  return (
    <>
      <Head title="Jobs">
        {me.role === 'client' && (
          <Link to="/new" class="button primary">
            New job
          </Link>
        )}
      </Head>
      <Filters to="/jobs" query={query}>
        <Choice name="state" label="State" of={[['', 'all'], ...jobStates.map((one) => [one, wordOf(one)] as const)]} />
        <Choice name="assurance" label="To be shown" of={assurances} />
        <Choice name="since" label="Submitted" of={times} />
        <Field name="search" label="Find" placeholder="id or code" isSearch />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          <span aria-hidden="true" class={feed.isLive ? 'dot live' : 'dot'} />
          {isPaused ? 'Paused: go on' : feed.isLive ? 'Live: pause' : 'Not live – pause'}
        </button>
        {!isPaused && feed.awayAt !== null && (
          <span class="note" role="status">
            Not live since {utcOf(feed.awayAt)}; asked every {everyMs / 1000} s.
          </span>
        )}
      </Filters>
      {simulation !== 'none' && <p class="since waits">{words[`${simulation}Simulated`]}</p>}
      <List
        of={jobs}
        label="jobs"
        columns={['State', 'Job', 'Progress', 'Loss', 'To be shown', 'Attested until', 'Submitted']}
        none={isFiltered ? 'No job is like this' : 'No jobs yet'}
        whenNone={<None isFiltered={isFiltered} role={me.role} />}
        at={['/jobs', query]}
        row={(job) => <Row key={job.id} job={job} isSimulated={simulation === 'all'} />}
      />
    </>
  );
}

const assurances = [
  ['', 'anything'],
  ['tee', 'attestation'],
  ['zk', 'proofs'],
  ['tee+zk', 'both'],
  ['sampled', 'samples'],
] as const;
const wordOfAssurance = (name: string): string => assurances.find(([value]) => value === name)?.[1] ?? plain(name);

/** The list of jobs names no nodes: which of those that say they can be attested say that they are simulated. */
function useSimulation(): 'all' | 'some' | 'none' {
  const { data } = useLoad<Page<Node>>('/v1/nodes?limit=200');
  if (data === undefined) return 'none';
  const kinds = data.items.map(({ capabilities }) => capabilities.tee).filter((tee) => tee !== 'none');
  const simulated = kinds.filter((tee) => tee.startsWith('simulated'));
  if (simulated.length === 0) return 'none';
  return simulated.length === kinds.length && data.nextCursor === null ? 'all' : 'some';
}

const times = [
  ['', 'at any time'],
  ['day', 'within a day'],
  ['week', 'within a week'],
  ['month', 'within 30 days'],
] as const;

function None({ isFiltered, role }: { readonly isFiltered: boolean; readonly role: string }) {
  if (isFiltered) {
    return (
      <p>
        <Link to="/jobs">Show all jobs</Link>
      </p>
    );
  }
  if (role !== 'client') return <p>They appear here when a client of this tenant submits one.</p>;
  return (
    <>
      <p>
        <Link to="/new">Plan one here</Link>, or try the smallest there is:
      </p>
      <Command label="run an example" text={exampleCommand} />
    </>
  );
}

interface RowProps {
  readonly job: Job;
  /** Whatever machine vouches for it. */
  readonly isSimulated: boolean;
}

function Row({ job, isSimulated }: RowProps) {
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
          <Trained job={job} />
        ) : (
          <>
            <code>{plain(job.code)}</code>{' '}
            <Link to={`/jobs/${job.id}`} label={`why job ${short(job.id)} is here, and what to do`}>
              what to do
            </Link>
          </>
        )}
      </td>
      <td class="number">{progress === null || progress.loss === null ? '–' : progress.loss.toFixed(4)}</td>
      <td>
        {wordOfAssurance(job.assurance)}
        {isSimulated && job.assurance.startsWith('tee') && <strong class="found">SIMULATED</strong>}
      </td>
      <td>{job.attestedUntil === null || isEnd(job.state) ? '–' : <Ago at={job.attestedUntil} />}</td>
      <td>
        <Ago at={job.createdAt} />
      </td>
    </tr>
  );
}
