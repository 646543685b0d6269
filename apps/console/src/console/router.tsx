/** Pages by their path: the address is the only state, so that every page can be passed on as a link. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const root = '/console';

export interface Route {
  /** Below the root: `['jobs', '0x…']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const heard = new Set<() => void>();

function here(): Route {
  const { pathname, search } = location;
  const path = pathname.slice(root.length).split('/').filter(Boolean).map(decoded);
  return { path, query: new URLSearchParams(search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param stays  the same page, of which other things are shown: whoever is in it keeps their place */
export function go(to: string, stays = false): void {
  history.pushState(null, '', root + to);
  if (!stays) scrollTo(0, 0);
  for (const hear of heard) hear();
  if (stays) return;
  // Whoever listens hears of the new page as of any other: focus goes to its heading.
  setTimeout(() => document.querySelector<HTMLElement>('main h1')?.focus());
}

export function useRoute(): Route {
  const [route, setRoute] = useState(here);
  useEffect(() => {
    const hear = (): void => setRoute(here());
    heard.add(hear);
    addEventListener('popstate', hear);
    return () => {
      heard.delete(hear);
      removeEventListener('popstate', hear);
    };
  }, []);
  return route;
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly current?: boolean;
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function Link({ to, current, label, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={root + to}
      onClick={follow}
      {...rest}
      {...(current === true && { 'aria-current': 'page' as const })}
      {...(label !== undefined && { 'aria-label': label })}
    >
      {children}
    </a>
  );
}
