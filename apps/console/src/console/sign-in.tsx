/** Signing in: the key goes to the control plane once, and this page forgets it. */
import { useRef, useState } from 'preact/hooks';
import { problemOf, tell, type Problem } from './api.js';
import { Fault } from './parts.js';
import { words } from './words.js';

interface Props {
  /** Why somebody who was here is out. */
  readonly ended: Problem | null;
  readonly onIn: () => void;
}

export function SignIn({ ended, onIn }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const enter = (event: SubmitEvent): void => {
    event.preventDefault();
    const key = field.current!.value.trim();
    field.current!.value = '';
    setBusy(true);
    tell('POST', '/console/session', { key })
      .then(onIn, (error: unknown) => {
        setProblem(problemOf(error));
        field.current?.focus();
      })
      .finally(() => setBusy(false));
  };
  return (
    <section class="sign-in">
      <h1 tabIndex={-1}>{words.signIn}</h1>
      <p>{words.signInText}</p>
      {ended !== null && problem === undefined && <p class="since">{words.ended}</p>}
      {problem !== undefined && <Wrong problem={problem} />}
      {isSecureContext ? (
        <form onSubmit={enter}>
          <label for="key">API key</label>
          <input
            ref={field}
            id="key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="vt_…"
            required
            autofocus
          />
          <button type="submit" class="primary" disabled={isBusy}>
            {words.signIn}
          </button>
        </form>
      ) : (
        <div class="fault" role="alert">
          <p>{words.insecure}</p>
          <p class="action">What to do: {words.insecureDo}</p>
        </div>
      )}
    </section>
  );
}

function Wrong({ problem }: { readonly problem: Problem }) {
  if (problem.status !== 401) return <Fault problem={problem} />;
  return (
    <p class="fault" role="alert">
      {words.wrongKey}
    </p>
  );
}
