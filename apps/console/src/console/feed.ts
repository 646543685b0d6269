/** Hears of every change of the jobs that its owner sees, while somebody looks: one stream for a page, not one for a job. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';

/** So often a page is asked anew at most, whatever comes. */
const togetherMs = 300;
/** After a refusal, as of a control plane that sheds what it is asked. */
const againMs = 5000;

const quiet = { isLive: false, awayAt: null };

interface Feed {
  /** Whether it hears now. */
  readonly isLive: boolean;
  /** Since when it does not, though it should: ISO 8601, UTC. */
  readonly awayAt: string | null;
}

/** @param onChange  called soon after changes, once for those that came together */
export function useFeed(isOn: boolean, onChange: () => void): Feed {
  const [feed, setFeed] = useState<Feed>(quiet);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (!isOn) return undefined;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    const change = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current();
      }, togetherMs);
    };
    const open = (): void => {
      if (source !== undefined || document.visibilityState !== 'visible') return;
      source = new EventSource('/v1/events');
      source.addEventListener('open', () => {
        setFeed({ isLive: true, awayAt: null });
        // What happened while nothing was heard.
        change();
      });
      source.addEventListener('job', change);
      source.addEventListener('error', () => {
        setFeed(({ awayAt }) => ({ isLive: false, awayAt: awayAt ?? new Date().toISOString() }));
        // A browser tries again by itself, but for an answer that was no stream: then somebody asks whether it is signed in.
        if (source?.readyState !== EventSource.CLOSED) return;
        source = undefined;
        clearTimeout(again);
        again = setTimeout(open, againMs);
        void ask('/v1/me').catch(() => undefined);
      });
    };
    const close = (): void => {
      source?.close();
      source = undefined;
      setFeed(quiet);
    };
    const look = (): void => (document.visibilityState === 'visible' ? open() : close());
    document.addEventListener('visibilitychange', look);
    open();
    return () => {
      document.removeEventListener('visibilitychange', look);
      clearTimeout(timer);
      clearTimeout(again);
      close();
    };
  }, [isOn]);
  return feed;
}
