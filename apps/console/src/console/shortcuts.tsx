/** Keys of the console: through a list, into a row, to the search; `?` lists them. */
import { useEffect, useState } from 'preact/hooks';

const known = [
  ['j', 'to the next row of a list'],
  ['k', 'to the row before'],
  ['Enter', 'opens the row'],
  ['/', 'to the search of a list'],
  ['?', 'shows and hides this'],
] as const;

export function Shortcuts() {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(event.target)) return;
      if (event.key === 'j' || event.key === 'k') move(event.key === 'j' ? 1 : -1);
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-search]')?.focus();
      else if (event.key === '?') setShown((was) => !was);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  if (!isShown) return null;
  return (
    <section class="shortcuts" aria-label="Keys of this page" role="region">
      <h2>Keys</h2>
      <dl class="facts plain">
        {known.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => setShown(false)}>
        Close
      </button>
    </section>
  );
}

/** Where somebody writes, a letter is a letter. */
function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null;
}

function move(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main .list tbody tr')]
    .map((row) => row.querySelector<HTMLElement>('th a, a, button, summary'))
    .filter((one) => one !== null);
  const at = rows.findIndex((one) => one.closest('tr')?.contains(document.activeElement) === true);
  const next = at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by;
  rows[next]?.focus();
}
