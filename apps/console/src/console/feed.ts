/** Hears of every change of the jobs that its owner sees, while somebody looks: one stream for a page, not one for a job. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';

/** So often a page is asked anew at most, whatever comes. */
const togetherMs = 300;
/** After a refusal, as of a control plane that sheds what it is asked. */
const againMs = 5000;

/**
 * @param onChange  called soon after changes, once for those that came together
 * @returns whether it hears now
 */
export function useFeed(isOn: boolean, onChange: () => void): boolean {
  const [isLive, setLive] = useState(false);
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
        setLive(true);
        // What happened while nothing was heard.
        change();
      });
      source.addEventListener('job', change);
      source.addEventListener('error', () => {
        setLive(false);
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
      setLive(false);
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
  return isLive;
}
