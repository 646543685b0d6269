/** Asks again by itself when an answer says when to, a few times, and says so. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from './api.js';

const timesMax = 5;
const secondsMax = 60;

interface Again {
  /** A sentence; empty: nothing is asked by itself. */
  readonly said: string;
  now(): void;
}

/** @param problem of the last time: another object for each time */
export function useAgain(problem: Problem, retry: (() => void) | undefined): Again {
  const times = useRef(0);
  const latest = useRef(retry);
  latest.current = retry;
  const [said, setSaid] = useState('');
  useEffect(() => {
    const { retryAfter } = problem;
    if (retryAfter === undefined || latest.current === undefined) return setSaid('');
    if (times.current === timesMax) return setSaid(`It was asked again ${timesMax} times by itself, in vain.`);
    times.current += 1;
    const seconds = Math.min(secondsMax, retryAfter);
    setSaid(`It is asked again by itself in ${seconds} s: ${times.current} of ${timesMax}.`);
    const timer = setTimeout(() => latest.current?.(), 1000 * seconds);
    return () => clearTimeout(timer);
  }, [problem]);
  const now = (): void => {
    times.current = 0;
    latest.current?.();
  };
  return { said, now };
}
