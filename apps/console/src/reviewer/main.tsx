/** Starts the page. */
import { render } from 'preact';
import { Page } from './page.js';

render(<Page />, document.getElementById('page')!);

/** On paper every group is open, and closed again behind it. */
const closed: HTMLDetailsElement[] = [];
addEventListener('beforeprint', () => {
  for (const group of document.querySelectorAll<HTMLDetailsElement>('details:not([open])')) {
    group.open = true;
    closed.push(group);
  }
});
addEventListener('afterprint', () => {
  for (const group of closed.splice(0)) group.open = false;
});
