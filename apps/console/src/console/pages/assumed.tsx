/** What an estimate takes for granted where the form says nothing. */
import { grouped } from '../../reviewer/text.js';
import { exampleOf, type DataWish } from '../plan.js';

export function Assumed({ wish }: { readonly wish: DataWish }) {
  const names = assumedIn(wish);
  if (names.length === 0) return null;
  const said = names.map((name) => `${grouped(exampleOf[name])} ${assumedWords[name]}`).join(', ');
  return <p class="note">For example with {said}: the form does not say how many yours has.</p>;
}

const assumedWords: Readonly<Record<keyof typeof exampleOf, string>> = {
  ...{ rows: 'rows', columns: 'columns', side: 'pixels across', context: 'tokens of context' },
  ...{ vocabulary: 'different tokens', outputs: 'classes' },
};

function assumedIn(wish: DataWish): readonly (keyof typeof exampleOf)[] {
  const { kind, target } = wish;
  const asked = {
    table: ['rows', 'columns'],
    pictures: ['rows', 'side'],
    text: ['rows', 'context', 'vocabulary'],
  } as const;
  const outputs = kind !== 'text' && target === 'class' ? (['outputs'] as const) : [];
  return [...asked[kind], ...outputs].filter((name) => wish[name] === 0);
}
