/** What a list is narrowed by; it stands in the address, so that a link shows the same. */
import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { go } from './router.js';

interface FiltersProps {
  /** Of the list, below the console. */
  readonly to: string;
  readonly query: URLSearchParams;
  readonly children: ComponentChildren;
}

interface Narrowing {
  readonly query: URLSearchParams;
  set(name: string, value: string): void;
}

const Narrowed = createContext<Narrowing>({ query: new URLSearchParams(), set: () => undefined });

export function Filters({ to, query, children }: FiltersProps) {
  const set = (name: string, value: string): void => {
    const changed = new URLSearchParams(query);
    // Another list begins at its first page.
    changed.delete('cursor');
    if (value === '') changed.delete(name);
    else changed.set(name, value);
    const text = changed.toString();
    go(text === '' ? to : `${to}?${text}`, true);
  };
  return (
    <Narrowed.Provider value={{ query, set }}>
      <form class="controls filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {children}
      </form>
    </Narrowed.Provider>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  /** `/` leads there. */
  readonly isSearch?: boolean;
}

/** A text, taken when its writer is done. */
export function Field({ name, label, placeholder = '', isSearch = false }: FieldProps) {
  const { query, set } = useContext(Narrowed);
  const value = query.get(name) ?? '';
  return (
    <label>
      {label}
      <input
        key={value}
        type="search"
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        maxLength={66}
        autocomplete="off"
        spellcheck={false}
        data-search={isSearch ? '' : undefined}
        onChange={({ currentTarget }) => set(name, currentTarget.value.trim())}
      />
    </label>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  /** Value and word; the first stands for all. */
  readonly of: readonly (readonly [value: string, word: string])[];
}

export function Choice({ name, label, of }: ChoiceProps) {
  const { query, set } = useContext(Narrowed);
  return (
    <label>
      {label}
      <select value={query.get(name) ?? ''} onChange={({ currentTarget }) => set(name, currentTarget.value)}>
        {of.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
