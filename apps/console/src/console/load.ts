/** What a page shows: asked when it opens, and again while somebody looks at it. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, problemOf, type Problem } from './api.js';

/** Whoever shows the fault asks again first. */
const graceMs = 500;

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  reload(): void;
}

/** @param path null: nothing is asked. @param everyMs asks again while the page is visible; absent: once */
export function useLoad<T>(path: string | null, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; problem?: Problem }>({ path });
  const turn = useRef(0);
  const quietUntil = useRef(0);
  const load = useCallback((): void => {
    if (path === null) return;
    const mine = ++turn.current;
    ask<T>(path).then(
      (data) => mine === turn.current && setState({ path, data }),
      (error: unknown) => {
        if (mine !== turn.current) return;
        const problem = problemOf(error);
        quietUntil.current = Date.now() + 1000 * (problem.retryAfter ?? 0) + graceMs;
        setState((was) => ({ ...(was.path === path ? was : { path }), problem }));
      },
    );
  }, [path]);
  useEffect(() => {
    load();
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && Date.now() >= quietUntil.current) load();
    }, everyMs);
    return () => clearInterval(timer);
  }, [load, everyMs]);
  const isOf = state.path === path;
  return { data: isOf ? state.data : undefined, problem: isOf ? state.problem : undefined, reload: load };
}
