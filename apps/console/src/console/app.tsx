/** Who is here, where they may go, and the page that they are on. */
import { useEffect, useState } from 'preact/hooks';
import { ask, onSignedOut, problemOf, tell, type Problem } from './api.js';
import { plain } from '../reviewer/text.js';
import { Fault, Head } from './parts.js';
import { Shortcuts } from './shortcuts.js';
import { Audit } from './pages/audit.js';
import { Datasets } from './pages/datasets.js';
import { Earnings } from './pages/earnings.js';
import { JobPage } from './pages/job.js';
import { Jobs } from './pages/jobs.js';
import { Keys } from './pages/keys.js';
import { DeadLetters } from './pages/letters.js';
import { Log } from './pages/log.js';
import { NodePage } from './pages/node.js';
import { Nodes } from './pages/nodes.js';
import { Sessions } from './pages/sessions.js';
import { Tenants } from './pages/tenants.js';
import { WebhookPage, Webhooks } from './pages/webhooks.js';
import { NewJob, Review } from './pages/later.js';
import { Printed } from './printed.js';
import { Link, useRoute, type Route } from './router.js';
import { SignIn } from './sign-in.js';
import type { Role } from '#libs/wire';
import type { Me } from './types.js';
import { words } from './words.js';

const places: Readonly<Record<string, string>> = {
  jobs: 'Jobs',
  new: 'New job',
  data: 'Data',
  webhooks: 'Webhooks',
  nodes: 'Nodes',
  earnings: 'Earnings',
  review: 'Review',
  tenants: 'Tenants',
  keys: 'Keys',
  audit: 'Audit',
  letters: 'Dead letters',
  log: 'Log',
  you: 'You',
};
const placesOf: Readonly<Record<Role, readonly string[]>> = {
  client: ['jobs', 'data', 'webhooks', 'nodes', 'log', 'review'],
  operator: ['nodes', 'earnings', 'review'],
  reviewer: ['jobs', 'nodes', 'log', 'review'],
  admin: ['jobs', 'data', 'nodes', 'tenants', 'keys', 'audit', 'letters', 'log', 'review'],
};
/** Reached from other pages, and in no list. */
const besides: Readonly<Partial<Record<Role, readonly string[]>>> = { client: ['new'] };
/** For administrators of every tenant alone. */
const ofEveryTenant: readonly string[] = ['tenants', 'letters'];

type Standing = { readonly me: Me } | { readonly out: Problem | null } | { readonly down: Problem } | null;

/** @throws what the control plane answers where the cookie is good no more */
async function standingOf(): Promise<Standing> {
  const { hasCookie } = await ask<{ readonly hasCookie: boolean }>('/console/session');
  return hasCookie ? { me: await ask<Me>('/v1/me') } : { out: null };
}

export function App() {
  const [standing, setStanding] = useState<Standing>(null);
  const look = (): void => {
    standingOf().then(setStanding, (error: unknown) => {
      const problem = problemOf(error);
      setStanding(problem.status === 401 ? { out: null } : { down: problem });
    });
  };
  useEffect(() => {
    onSignedOut((problem) => setStanding((was) => (was !== null && 'me' in was ? { out: problem } : was)));
    look();
  }, []);
  if (standing === null) return <Bare>{<p class="note waiting">Loading…</p>}</Bare>;
  if ('down' in standing) {
    return (
      <Bare>
        <h1>{standing.down.status === 0 ? words.noAnswer : words.noAnswerNow}</h1>
        <Fault problem={standing.down} retry={look} />
      </Bare>
    );
  }
  if ('out' in standing) {
    return (
      <Bare>
        <SignIn ended={standing.out} onIn={look} />
      </Bare>
    );
  }
  return <Console me={standing.me} onOut={() => setStanding({ out: null })} />;
}

function Bare({ children }: { readonly children: preact.ComponentChildren }) {
  return (
    <>
      <header class="top">
        <p class="brand">
          <strong>Veritrain</strong> <span class="note">console</span>
        </p>
      </header>
      <main class="narrow">{children}</main>
    </>
  );
}

function Console({ me, onOut }: { readonly me: Me; readonly onOut: () => void }) {
  const route = useRoute();
  const own = placesOf[me.role].filter((name) => me.tenant === null || !ofEveryTenant.includes(name));
  const reached = [...own, ...(besides[me.role] ?? []), 'you'];
  const place = route.path[0] ?? own[0]!;
  useEffect(() => {
    document.title = `${places[place] ?? 'Not found'} · Veritrain console`;
  }, [place]);
  return (
    <>
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <p class="brand">
          <strong>Veritrain</strong> <span class="note">console</span>
        </p>
        <div class="who no-print">
          <Link to="/you" class="note" current={place === 'you'}>
            {me.role} of {plain(me.tenant ?? 'every tenant')}
          </Link>
          <SignOut onOut={onOut} />
        </div>
      </header>
      <div class="frame">
        <nav aria-label="Pages" class="no-print">
          <ul>
            {own.map((name) => (
              <li key={name}>
                <Link to={`/${name}`} current={name === place}>
                  {places[name]}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <main id="content" tabIndex={-1}>
          <Shortcuts />
          <Place me={me} place={reached.includes(place) ? place : ''} route={route} onOut={onOut} />
          <Printed />
        </main>
      </div>
    </>
  );
}

/** The session ends there, not here: who is not told that it ended is still signed in. */
function SignOut({ onOut }: { readonly onOut: () => void }) {
  const [problem, setProblem] = useState<Problem>();
  const leave = (): void => {
    tell('DELETE', '/console/session').then(onOut, (error: unknown) => setProblem(problemOf(error)));
  };
  return (
    <>
      <button type="button" onClick={leave}>
        Sign out
      </button>
      {problem !== undefined && <Fault title={words.notOut} problem={problem} retry={leave} />}
    </>
  );
}

interface PlaceProps {
  readonly me: Me;
  /** Empty: not for this role, or nowhere. */
  readonly place: string;
  readonly route: Route;
  readonly onOut: () => void;
}

function Place({ me, place, route: { path, query }, onOut }: PlaceProps) {
  const id = path[1];
  switch (place) {
    case 'jobs':
      return id === undefined ? <Jobs query={query} me={me} /> : <JobPage key={id} id={id} part={path[2]} me={me} />;
    case 'new':
      return <NewJob />;
    case 'data':
      return <Datasets query={query} />;
    case 'nodes':
      return id === undefined ? <Nodes query={query} me={me} /> : <NodePage key={id} id={id} me={me} />;
    case 'earnings':
      return <Earnings query={query} me={me} />;
    case 'review':
      return <Review />;
    case 'tenants':
      return <Tenants query={query} />;
    case 'keys':
      return <Keys query={query} me={me} />;
    case 'audit':
      return <Audit query={query} />;
    case 'webhooks':
      return id === undefined ? <Webhooks /> : <WebhookPage key={id} id={id} />;
    case 'letters':
      return <DeadLetters query={query} />;
    case 'log':
      return <Log query={query} />;
    case 'you':
      return <Sessions me={me} onOut={onOut} />;
    default:
      return (
        <>
          <Head title={words.nowhere} />
          <p>{words.nowhereText}</p>
        </>
      );
  }
}
