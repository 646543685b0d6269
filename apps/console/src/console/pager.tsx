/** From page to page of a list; the place stands in the address. */
import { Link } from './router.js';

interface Props {
  /** Of this list, below the console. */
  readonly to: string;
  readonly query: URLSearchParams;
  readonly next: string | null;
}

export function Pager({ to, query, next }: Props) {
  const at = (cursor: string | null): string => {
    const changed = new URLSearchParams(query);
    if (cursor === null) changed.delete('cursor');
    else changed.set('cursor', cursor);
    const text = changed.toString();
    return text === '' ? to : `${to}?${text}`;
  };
  const isFirst = !query.has('cursor');
  if (isFirst && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages of this list">
      {!isFirst && <Link to={at(null)}>First page</Link>}
      {next !== null && <Link to={at(next)}>Next page</Link>}
    </nav>
  );
}

/** The query of the API for a page of a list. */
export function pageQuery(query: URLSearchParams, ...names: readonly string[]): string {
  const asked = new URLSearchParams({ limit: '50' });
  for (const name of ['cursor', ...names]) {
    const value = query.get(name);
    if (value !== null && value !== '') asked.set(name, value);
  }
  return asked.toString();
}
