/** Asks the control plane, with the session's cookie. Whatever it refuses comes as its problem document says it. */

/** RFC 9457 with the fields of a coded error. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly expected: string;
  readonly got: string;
  readonly action: string;
  /** Seconds from which on asking again makes sense, as the answer says. */
  readonly retryAfter?: number;
}

class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.code);
  }
}

/** The cookie counts only with this header, which no form of another site sends. */
const own = { 'x-veritrain-console': '1' };

type Signed = (out: Problem) => void;
let signedOut: Signed = () => undefined;

/** @param heard called when an answer says that the session has ended */
export function onSignedOut(heard: Signed): void {
  signedOut = heard;
}

/** @throws Refused */
export async function ask<T>(path: string): Promise<T> {
  return (await read(await send('GET', path))) as T;
}

/** A change; `POST` of the API carries a key under which a repeated one is done once. @throws Refused */
export async function tell<T>(method: 'POST' | 'DELETE', path: string, body: object = {}): Promise<T> {
  return (await read(await send(method, path, body))) as T;
}

/** @throws Refused */
export async function bytesAt(path: string): Promise<Uint8Array> {
  const answer = await send('GET', path);
  if (!answer.ok) throw await refusedBy(answer);
  return new Uint8Array(await answer.arrayBuffer());
}

async function send(method: string, path: string, body?: object): Promise<Response> {
  const isPost = method === 'POST';
  const change = isPost ? { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() } : undefined;
  try {
    return await fetch(path, {
      ...{ method, credentials: 'same-origin' as const, cache: 'no-store' as const },
      headers: { ...own, ...change },
      ...(isPost && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused(unreachable);
  }
}

async function read(answer: Response): Promise<unknown> {
  if (!answer.ok) throw await refusedBy(answer);
  return answer.status === 204 ? undefined : answer.json();
}

async function refusedBy(answer: Response): Promise<Refused> {
  const said = (await answer.json().catch(() => ({}))) as Partial<Problem>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const retryAfter = Number(answer.headers.get('retry-after'));
  const problem = {
    ...(retryAfter > 0 && { retryAfter }),
    ...{ status: answer.status, code: text(said.code) || `HTTP_${answer.status}` },
    ...{ expected: text(said.expected), got: text(said.got), action: text(said.action) },
  };
  if (answer.status === 401) signedOut(problem);
  return new Refused(problem);
}

const unreachable: Problem = {
  ...{ status: 0, code: 'UNREACHABLE', expected: 'an answer from the control plane', got: 'none' },
  action: 'Look whether it runs, then try again.',
};

export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return error.problem;
  const got = error instanceof Error ? error.message : 'something else';
  return { status: 0, code: 'PAGE_FAULT', expected: 'a page that works', got, action: 'Load the page again.' };
}
