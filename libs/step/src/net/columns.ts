/** Columns of a data header: where the integers of a record come from (libs/step/DATA.md). */
import * as limits from '../limits.js';
import * as read from './header-members.js';

/** `q = CLAMP(floor((v − center)/scale·2^frac + 1/2))` in float64; `count` adjacent features share center and scale. */
export interface NumberColumn {
  readonly kind: 'number';
  readonly name: string;
  readonly center: number;
  /** Above 0. */
  readonly scale: number;
  /** Left out where it is 1. */
  readonly count?: number;
}

/** 1 where the number before it is missing, else 0; it stands right after that number and is called `<name>?`. */
interface MissingColumn {
  readonly kind: 'missing';
  readonly name: string;
}

/** One-hot in the order of `values`; another or no value is all zeros. As a label: the class is the place in `values`. */
export interface CategoryColumn {
  readonly kind: 'category';
  readonly name: string;
  readonly values: readonly string[];
}

/** One feature or target: 0 for the first value, 1 for the second. */
interface FlagColumn {
  readonly kind: 'flag';
  readonly name: string;
  readonly values: readonly [string, string];
}

/** Integers that are taken as they are; `count` adjacent features, left out where it is 1. */
interface IntegerColumn {
  readonly kind: 'integer';
  readonly name: string;
  readonly count?: number;
}

/** A picture: all features of the record. `exact` refuses another size than the shape's, `stretch` resizes. */
interface ImageColumn {
  readonly kind: 'image';
  readonly name: string;
  readonly fit: 'exact' | 'stretch';
}

/** Text that a tokenizer cuts: all features of the record. */
interface TextColumn {
  readonly kind: 'text';
  readonly name: string;
}

export type Column =
  NumberColumn | MissingColumn | CategoryColumn | FlagColumn | IntegerColumn | ImageColumn | TextColumn;

type Parser = (o: Record<string, unknown>, at: string) => Column;

const parsers: Readonly<Record<Column['kind'], Parser>> = {
  number(o, at) {
    read.onlyMembers(o, ['name', 'kind', 'center', 'scale'], at, ['count']);
    const center = read.real(o.center, `${at}.center`);
    const scale = read.real(o.scale, `${at}.scale`);
    if (scale <= 0) read.refuseHeader('RANGE', `${at}.scale above 0`, scale);
    return { kind: 'number', name: read.name(o.name, at), center, scale, ...count(o, at) };
  },
  missing(o, at) {
    read.onlyMembers(o, ['name', 'kind'], at);
    return { kind: 'missing', name: read.name(o.name, at) };
  },
  category(o, at) {
    read.onlyMembers(o, ['name', 'kind', 'values'], at);
    return { kind: 'category', name: read.name(o.name, at), values: read.names(o.values, `${at}.values`) };
  },
  flag(o, at) {
    read.onlyMembers(o, ['name', 'kind', 'values'], at);
    const [off, on] = read.names(o.values, `${at}.values`, 2);
    return { kind: 'flag', name: read.name(o.name, at), values: [off!, on!] };
  },
  integer(o, at) {
    read.onlyMembers(o, ['name', 'kind'], at, ['count']);
    return { kind: 'integer', name: read.name(o.name, at), ...count(o, at) };
  },
  image(o, at) {
    read.onlyMembers(o, ['name', 'kind', 'fit'], at);
    if (o.fit !== 'exact' && o.fit !== 'stretch') read.refuseHeader('FIT', `${at}.fit exact or stretch`, o.fit);
    return { kind: 'image', name: read.name(o.name, at), fit: o.fit };
  },
  text(o, at) {
    read.onlyMembers(o, ['name', 'kind'], at);
    return { kind: 'text', name: read.name(o.name, at) };
  },
};

/** @throws Rejection HEADER_* */
export function parseColumns(value: unknown, at: string): readonly Column[] {
  const columns = read.list(value, at, limits.columnsMax).map((entry, index) => {
    const place = `${at}[${index}]`;
    const o = read.object(entry, place);
    const kind = typeof o.kind === 'string' && Object.hasOwn(parsers, o.kind) ? (o.kind as Column['kind']) : null;
    if (kind === null) read.refuseHeader('KIND', `${place}.kind ${Object.keys(parsers).join(', ')}`, o.kind);
    return parsers[kind](o, place);
  });
  columns.forEach((column, index) => {
    if (column.kind !== 'missing') return;
    const before = columns[index - 1];
    if (before?.kind === 'number' && before.count === undefined && column.name === `${before.name}?`) return;
    read.refuseHeader('MISSING', `${at}[${index}] after the number that it is about, named <name>?`, column.name);
  });
  read.checkDistinct(
    columns.map(({ name }) => name),
    at,
  );
  return columns;
}

/** Features or targets that a column fills; null: all of the record. */
export function columnWidth(column: Column): number | null {
  switch (column.kind) {
    case 'category':
      return column.values.length;
    case 'number':
    case 'integer':
      return column.count ?? 1;
    case 'missing':
    case 'flag':
      return 1;
    case 'image':
    case 'text':
      return null;
  }
}

function count(o: Record<string, unknown>, at: string): { count?: number } {
  return o.count === undefined ? {} : { count: read.integer(o.count, `${at}.count`, 2, limits.featuresMax) };
}
