/** What somebody filled in and has not finished, kept for this tab alone: never a key, for no form here asks for one to keep. */
import { useEffect, useState } from 'preact/hooks';

/** @param usual  what a new form has; members of another type in what was kept are not taken */
export function useDraft<T extends object>(name: string, usual: T): [T, (next: T) => void] {
  const [value, setValue] = useState<T>(() => ({ ...usual, ...kept(name, usual) }));
  useEffect(() => {
    try {
      sessionStorage.setItem(name, JSON.stringify(value));
    } catch {
      // A browser that keeps nothing shows the form all the same.
    }
  }, [name, value]);
  return [value, setValue];
}

function kept<T extends object>(name: string, usual: T): Partial<T> {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(name) ?? '{}');
    if (typeof read !== 'object' || read === null) return {};
    const known = Object.entries(read).filter(([key, value]) => typeof value === typeof usual[key as keyof T]);
    return Object.fromEntries(known) as Partial<T>;
  } catch {
    return {};
  }
}
