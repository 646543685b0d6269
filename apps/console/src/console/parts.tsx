/** What every page is made of: heading, fault, empty list, facts, a question in place. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { plain } from '../reviewer/text.js';
import { useAgain } from './again.js';
import { problemOf, type Problem } from './api.js';
import { ago, utcOf } from './figures.js';
import type { Loaded } from './load.js';
import { faults } from './words.js';

export function Head({
  title,
  children,
}: {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="head">
      <h1 tabIndex={-1}>{title}</h1>
      {children !== undefined && <div class="tools">{children}</div>}
    </div>
  );
}

interface FaultProps {
  readonly problem: Problem;
  /** What did not happen, where the place does not tell. */
  readonly title?: string;
  /** Asks again: when somebody presses, and by itself where the answer says when. */
  readonly retry?: () => void;
}

/** What was refused, in place: code, what was expected, what came, what to do. */
export function Fault({ problem, title, retry }: FaultProps) {
  const { code, expected, got } = problem;
  const again = useAgain(problem, retry);
  const known = Object.hasOwn(faults, code) ? faults[code] : undefined;
  const action = known?.action ?? problem.action;
  return (
    <div class="fault" role="alert">
      <p>
        {title !== undefined && <strong>{title}</strong>}{' '}
        {known === undefined ? (
          <>
            <strong>{code}</strong>
            {expected !== '' && ` Expected ${plain(expected)}; got ${plain(got) || 'nothing'}.`}
          </>
        ) : (
          <>
            {known.says} <code>{code}</code>
          </>
        )}
      </p>
      {action !== '' && <p class="action">What to do: {plain(action)}</p>}
      {retry !== undefined && (
        <p class="retry no-print">
          <button type="button" onClick={again.now}>
            Try again
          </button>{' '}
          {again.said}
        </p>
      )}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface ShownProps<T> {
  readonly of: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** Waits, says why not, or shows. What was there stays while something goes wrong. */
export function Shown<T>({ of, children }: ShownProps<T>) {
  return (
    <>
      {of.problem !== undefined && of.problem.status !== 401 && <Fault problem={of.problem} retry={of.reload} />}
      {of.data !== undefined ? children(of.data) : of.problem === undefined && <p class="note waiting">Loading…</p>}
    </>
  );
}

export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts plain">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ActProps {
  readonly label: string;
  /** Asked in place before anything ends; absent: done at once. */
  readonly question?: string;
  readonly yes?: string;
  readonly act: () => Promise<unknown>;
  /** What most people came for. */
  readonly isMain?: boolean;
}

/** A button for a change. It shows what was refused beside it, and is quiet while it waits. */
export function Act({ label, question, yes = label, act, isMain = false }: ActProps) {
  const [state, setState] = useState<'idle' | 'asks' | 'busy'>('idle');
  const [problem, setProblem] = useState<Problem>();
  const run = (): void => {
    setState('busy');
    setProblem(undefined);
    act().then(
      () => setState('idle'),
      (error: unknown) => {
        setProblem(problemOf(error));
        setState('idle');
      },
    );
  };
  return (
    <span class="act">
      {state === 'asks' ? (
        <span class="asks" role="group" aria-label={question}>
          <span>{question}</span>
          <button type="button" class="danger" onClick={run}>
            {yes}
          </button>
          <button type="button" onClick={() => setState('idle')}>
            Keep it
          </button>
        </span>
      ) : (
        <button
          type="button"
          class={isMain ? 'primary' : ''}
          disabled={state === 'busy'}
          onClick={() => (question === undefined ? run() : setState('asks'))}
        >
          {question === undefined ? label : `${label}…`}
        </button>
      )}
      {problem !== undefined && <Fault problem={problem} />}
    </span>
  );
}

/** How long ago; on paper when. */
export function Ago({ at }: { readonly at: string }) {
  return (
    <time class="ago" dateTime={at} title={utcOf(at)} data-on-paper={utcOf(at)}>
      {ago(at)}
    </time>
  );
}

interface ScrollProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A table that is wider than the window moves by itself, by keyboard too. */
export function Scroll({ label, children }: ScrollProps) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

/** A command for a terminal: to read, and to copy whole. */
export function Command({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => setSaid('copied'),
      () => setSaid('select and copy'),
    );
  };
  return (
    <div class="command">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" class="quiet" aria-label={`copy: ${label}`} onClick={copy}>
        copy
      </button>
      <span class="said" role="status">
        {said}
      </span>
    </div>
  );
}
