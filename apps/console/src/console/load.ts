/** What a page shows: asked when it opens, and again while somebody looks at it. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, problemOf, type Problem } from './api.js';

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  reload(): void;
}

/** @param path null: nothing is asked. @param everyMs asks again while the page is visible; absent: once */
export function useLoad<T>(path: string | null, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; problem?: Problem }>({ path });
  const turn = useRef(0);
  const load = useCallback((): void => {
    if (path === null) return;
    const mine = ++turn.current;
    ask<T>(path).then(
      (data) => mine === turn.current && setState({ path, data }),
      (error: unknown) =>
        mine === turn.current &&
        setState((was) => ({ ...(was.path === path ? was : { path }), problem: problemOf(error) })),
    );
  }, [path]);
  useEffect(() => {
    load();
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && load(), everyMs);
    return () => clearInterval(timer);
  }, [load, everyMs]);
  const isOf = state.path === path;
  return { data: isOf ? state.data : undefined, problem: isOf ? state.problem : undefined, reload: load };
}
