/** A page of a list: a table with its frame, what stands there while it is empty, and the way to the next page. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Loaded } from './load.js';
import { Pager } from './pager.js';
import { Empty, Scroll, Shown } from './parts.js';
import type { Page } from './types.js';

interface ListProps<T> {
  readonly of: Loaded<Page<T>>;
  /** What the table is called for whoever hears it. */
  readonly label: string;
  readonly columns: readonly string[];
  /** One row: a `tr`. */
  readonly row: (item: T) => ComponentChildren;
  /** Heading of the empty list. */
  readonly none: string;
  /** What to do about it. */
  readonly whenNone: ComponentChildren;
  /** Of this list, below the console, and its query. */
  readonly at: readonly [to: string, query: URLSearchParams];
  /** Above the table, of what stands on this page. */
  readonly sums?: (items: readonly T[], isAll: boolean) => ComponentChildren;
}

export function List<T>({ of, label, columns, row, none, whenNone, at: [to, query], sums }: ListProps<T>) {
  return (
    <Shown of={of}>
      {({ items, nextCursor }) =>
        items.length === 0 ? (
          <Empty title={none}>{whenNone}</Empty>
        ) : (
          <>
            {sums?.(items, nextCursor === null && !query.has('cursor'))}
            <section>
              <Table label={label} columns={columns}>
                {items.map(row)}
              </Table>
              <Pager to={to} query={query} next={nextCursor} />
            </section>
          </>
        )
      }
    </Shown>
  );
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}

/** On a phone each row is a card, where every cell says which column it is of. */
export function Table({ label, columns, children }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    for (const row of body.current!.rows) {
      columns.forEach((name, index) => row.cells[index]?.setAttribute('data-column', name));
    }
  });
  return (
    <Scroll label={label}>
      <table class="list">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </Scroll>
  );
}
