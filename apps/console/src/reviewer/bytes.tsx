/** Every part of the file in hexadecimal, with the chosen field marked and its place said. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BundlePart, FieldRow } from '#libs/review';
import type { Place } from './places.js';
import { grouped, plain } from './text.js';
import { words } from './words.js';

const rowBytes = 16;
const hexRowsMax = 128;
/** With more segments, one of them is listed. */
const listedMax = 16;

interface Props {
  readonly parts: readonly BundlePart[];
  readonly place: Place;
  readonly onPlace: (place: Place) => void;
}

export function Bytes({ parts, place, onPlace }: Props) {
  const part = parts.find(({ id }) => id === place.part) ?? parts[0]!;
  const fields = part.fields();
  const index = Math.max(
    0,
    fields.findIndex(({ name }) => name === place.field),
  );
  const field = fields[index]!;
  const segment = segmentOf(part.id);
  const last = Math.max(-1, ...parts.map(({ id }) => segmentOf(id) ?? -1));
  const isFolded = last >= listedMax;
  const shown = isFolded ? parts.filter(({ id }) => (segmentOf(id) ?? segment ?? 0) === (segment ?? 0)) : parts;
  return (
    <section aria-labelledby="bytes" class="bytes">
      <h2 id="bytes">{words.bytes}</h2>
      <label class="no-print">
        part of the file{' '}
        <select value={part.id} onChange={({ currentTarget }) => onPlace({ part: currentTarget.value })}>
          {shown.map(({ id, title, bytes }) => (
            <option key={id} value={id}>
              {title} ({bytes.length} bytes)
            </option>
          ))}
        </select>
      </label>
      {isFolded && (
        <label class="no-print">
          {' '}
          or segment{' '}
          <input
            type="number"
            min={0}
            max={last}
            value={segment ?? 0}
            onChange={({ currentTarget: { valueAsNumber: wanted } }) => {
              if (wanted >= 0 && wanted <= last) onPlace({ part: `segment-${Math.floor(wanted)}/statement` });
            }}
          />{' '}
          of 0 to {grouped(last)}
        </label>
      )}
      <p class="print-only">{part.title}</p>
      <div class="panes">
        <Fields fields={fields} index={index} onIndex={(at) => onPlace({ part: part.id, field: fields[at]!.name })} />
        <Hex bytes={part.bytes} field={field} />
        <div class="says" aria-live="polite">
          <p class="spoken">
            <strong>{plain(field.name)}</strong>, {spanOf(field)}
          </p>
          {field.meaning !== undefined && <p>{plain(field.meaning)}</p>}
          <p class="value">{plain(field.value)}</p>
        </div>
      </div>
    </section>
  );
}

/** Of a part that belongs to one. */
function segmentOf(id: string): number | undefined {
  const found = /^segment-(\d+)\//.exec(id)?.[1];
  return found === undefined ? undefined : Number(found);
}

function spanOf({ offset, size }: FieldRow): string {
  if (size === 0) return `at byte ${offset}, empty`;
  return size === 1 ? `byte ${offset}` : `bytes ${offset} to ${offset + size - 1}`;
}

interface FieldsProps {
  readonly fields: readonly FieldRow[];
  readonly index: number;
  readonly onIndex: (index: number) => void;
}

const steps: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
};

function Fields({ fields, index, onIndex }: FieldsProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const chosen = list.current?.children[index] as HTMLElement | undefined;
    if (list.current !== null && chosen !== undefined) list.current.scrollTop = chosen.offsetTop - 60;
  }, [index, fields]);
  const go = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onIndex(Math.min(fields.length - 1, Math.max(0, index + step)));
  };
  return (
    <ul
      ref={list}
      class="fields no-print"
      role="listbox"
      tabIndex={0}
      aria-label="fields"
      aria-activedescendant={`field-${index}`}
      onKeyDown={go}
    >
      {fields.map(({ name, offset }, at) => (
        <li key={at} id={`field-${at}`} role="option" aria-selected={at === index} onClick={() => onIndex(at)}>
          <span>{plain(name)}</span> <span class="offset">{offset}</span>
        </li>
      ))}
    </ul>
  );
}

function Hex({ bytes, field }: { readonly bytes: Uint8Array; readonly field: FieldRow }) {
  const [from, to] = [field.offset, field.offset + field.size];
  const total = Math.ceil(bytes.length / rowBytes);
  const [first, setFirst] = useState(0);
  const start = total <= hexRowsMax ? 0 : Math.max(0, Math.min(Math.floor(from / rowBytes) - 4, total - hexRowsMax));
  const view = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setFirst(start);
    const row = view.current?.children[Math.floor(from / rowBytes) - start] as HTMLElement | undefined;
    if (view.current !== null && row !== undefined) view.current.scrollTop = row.offsetTop - 60;
  }, [start, from, bytes]);
  const base = total <= hexRowsMax ? 0 : first;
  const rows = Array.from({ length: Math.min(hexRowsMax, total - base) }, (_, index) => base + index);
  return (
    <div ref={view} class="hex" role="region" aria-label="bytes in hexadecimal" tabIndex={0}>
      {rows.map((row) => {
        const isIn = row * rowBytes < to && (row + 1) * rowBytes > from;
        return (
          <div key={row} class={isIn ? 'line in' : 'line'}>
            <span class="offset">{(row * rowBytes).toString(16).padStart(6, '0')}</span>
            <span class="cells">{cellsOf(bytes, row, from, to)}</span>
          </div>
        );
      })}
      {total > hexRowsMax && (
        <p class="note">
          {rows.length} of {total} lines are shown, around the field.
        </p>
      )}
    </div>
  );
}

/** Three runs: before, marked, after. */
function cellsOf(bytes: Uint8Array, row: number, from: number, to: number) {
  const begin = row * rowBytes;
  const end = Math.min(bytes.length, begin + rowBytes);
  const hex = (a: number, b: number): string =>
    Array.from(bytes.subarray(Math.max(a, begin), Math.max(a, begin, Math.min(b, end))), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join(' ');
  const [before, marked, after] = [hex(begin, Math.min(from, end)), hex(from, to), hex(Math.max(to, begin), end)];
  return (
    <>
      {before !== '' && `${before} `}
      {marked !== '' && <mark>{marked}</mark>}
      {after !== '' && ` ${after}`}
    </>
  );
}
