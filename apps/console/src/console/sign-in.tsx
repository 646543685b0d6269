/** Signing in: by the identity provider, or with a key, which goes to the control plane once and which this page forgets. */
import { useRef, useState } from 'preact/hooks';
import { WithCode } from '../ui/with-code.js';
import { problemOf, tell, type Problem } from './api.js';
import { useLoad } from './load.js';
import { Act, Fault } from './parts.js';
import { refusals, words } from './words.js';

interface Props {
  /** Why somebody who was here is out. */
  readonly ended: Problem | null;
  readonly onIn: () => void;
}

export function SignIn({ ended, onIn }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const ways = useLoad<{ readonly provider: string | null }>('/console/session');
  const provider = ways.data?.provider ?? null;
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
      {ended !== null && problem === undefined && <p class="since">{words.ended}</p>}
      {problem === undefined && <Refused />}
      {problem !== undefined && <Wrong problem={problem} />}
      {isSecureContext && provider !== null && <ByProvider name={provider} />}
      <p>{words.signInText}</p>
      <p class="note">
        <WithCode text={words.signInWhence} />
      </p>
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
          <button type="submit" class={provider === null ? 'primary' : ''} disabled={isBusy}>
            {provider === null ? words.signIn : words.signInByKey}
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

/** This page leaves for the provider's, which sends the browser back. */
function ByProvider({ name }: { readonly name: string }) {
  const leave = async (): Promise<void> => {
    const { location: to } = await tell<{ location: string }>('POST', '/console/session/oidc');
    location.assign(to);
  };
  return (
    <p class="by-provider">
      <Act label={`Sign in with ${name}`} act={leave} isMain />
    </p>
  );
}

/** Why the provider's answer did not count: a sentence of ours for each code, and nothing out of the address itself. */
function Refused() {
  const code = new URLSearchParams(location.search).get('refused') ?? '';
  const sentence = Object.hasOwn(refusals, code) ? refusals[code] : undefined;
  return sentence === undefined ? null : (
    <p class="fault" role="alert">
      {sentence} <code>{code}</code>
    </p>
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
