/** Pages with much code behind them, loaded when somebody first opens one. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, bytesAt, problemOf, type Problem } from '../api.js';
import { Fault } from '../parts.js';
import { words } from '../words.js';

function later<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let known: FunctionComponent<P> | undefined;
  return function Later(props: P) {
    const [Part, setPart] = useState<FunctionComponent<P> | undefined>(() => known);
    const [problem, setProblem] = useState<Problem>();
    const fetchPart = (): void => {
      load().then(
        (part) => {
          known = part;
          setPart(() => part);
          setProblem(undefined);
        },
        () => void missing().then(setProblem),
      );
    };
    useEffect(() => {
      if (known === undefined) fetchPart();
    }, []);
    if (problem !== undefined) {
      return (
        <>
          <h1 tabIndex={-1}>{problem.status === 0 ? words.noAnswer : words.noAnswerNow}</h1>
          <Fault problem={problem} retry={problem === replaced ? () => location.reload() : fetchPart} />
        </>
      );
    }
    return Part === undefined ? <p class="note waiting">Loading…</p> : <Part {...props} />;
  };
}

/** Of a console that was replaced since this page was loaded, or of a browser that keeps a failed part as failed. */
const replaced: Problem = {
  ...{
    status: 404,
    code: 'PAGE_PART',
    expected: 'the code of this page',
    got: 'none, though the control plane answers',
  },
  action: 'Load the page again.',
};

/** A browser does not say why code is not to be had: the control plane does, or is not to be had either. */
const missing = (): Promise<Problem> => ask('/console/session').then(() => replaced, problemOf);

const ReviewerPage = later(async () => (await import('../../reviewer/page.js')).Page);

export const NewJob = later<object>(async () => (await import('./new-job.js')).NewJob);

export const Review = () => <ReviewerPage inside />;

/** A job's bundle as the control plane gives it, judged here, in this browser. */
export function JobEvidence({ id }: { readonly id: string }) {
  const [bytes, setBytes] = useState<Uint8Array>();
  const [problem, setProblem] = useState<Problem>();
  const fetchBundle = (): void => {
    bytesAt(`/v1/jobs/${encodeURIComponent(id)}/bundle`).then(
      (read) => {
        setBytes(read);
        setProblem(undefined);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  useEffect(fetchBundle, [id]);
  if (problem !== undefined) {
    return (
      <>
        <h1 tabIndex={-1}>{problem.status === 0 ? words.noAnswer : 'No evidence yet'}</h1>
        <Fault problem={problem} retry={fetchBundle} />
      </>
    );
  }
  if (bytes === undefined) return <p class="note waiting">Loading the bundle…</p>;
  return <ReviewerPage inside given={{ name: `${id.slice(2, 14)}.vtb`, bytes }} />;
}
