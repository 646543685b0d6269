/** Pages with much code behind them, loaded when somebody first opens one. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { bytesAt, problemOf, type Problem } from '../api.js';
import { Fault } from '../parts.js';

function later<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let known: FunctionComponent<P> | undefined;
  return function Later(props: P) {
    const [Part, setPart] = useState<FunctionComponent<P> | undefined>(() => known);
    const [problem, setProblem] = useState<Problem>();
    useEffect(() => {
      if (known !== undefined) return;
      load().then(
        (part) => {
          known = part;
          setPart(() => part);
        },
        (error: unknown) => setProblem(problemOf(error)),
      );
    }, []);
    if (problem !== undefined) return <Fault problem={problem} />;
    return Part === undefined ? <p class="note waiting">Loading…</p> : <Part {...props} />;
  };
}

const ReviewerPage = later(async () => (await import('../../reviewer/page.js')).Page);

export const NewJob = later<object>(async () => (await import('./new-job.js')).NewJob);

export const Review = () => <ReviewerPage inside />;

/** A job's bundle as the control plane gives it, judged here, in this browser. */
export function JobEvidence({ id }: { readonly id: string }) {
  const [bytes, setBytes] = useState<Uint8Array>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    bytesAt(`/v1/jobs/${encodeURIComponent(id)}/bundle`).then(setBytes, (error: unknown) =>
      setProblem(problemOf(error)),
    );
  }, [id]);
  if (problem !== undefined) {
    return (
      <>
        <h1 tabIndex={-1}>No evidence yet</h1>
        <Fault problem={problem} />
      </>
    );
  }
  if (bytes === undefined) return <p class="note waiting">Loading the bundle…</p>;
  return <ReviewerPage inside given={{ name: `${id.slice(2, 14)}.vtb`, bytes }} />;
}
