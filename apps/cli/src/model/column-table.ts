/** What each column of the data becomes, a line each; neighbours that become the same share one. */
import type { ColumnUse } from '#libs/data';
import { ownTable } from '../output.js';

/** Characters of names that a line has room for. */
const namesWidth = 40;

export function columnTable(columns: readonly ColumnUse[]): string {
  const groups: ColumnUse[][] = [];
  for (const column of columns) {
    const group = groups.at(-1);
    const isSame = group !== undefined && column.doubt === null && wordsOf(group[0]!) === wordsOf(column);
    if (isSame) group.push(column);
    else groups.push([column]);
  }
  return ownTable(groups.map((group) => [namesOf(group), wordsOf(group[0]!)] as const));
}

function namesOf(group: readonly ColumnUse[]): string {
  const names = group.map(({ name }) => name);
  const all = names.join(', ');
  if (names.length === 1 || all.length <= namesWidth) return all;
  return `${names[0]!} … ${names.at(-1)!} (${names.length} columns)`;
}

function wordsOf({ name, use, becomes, doubt }: ColumnUse): string {
  const words = use === 'label' ? `the label: ${becomes}` : becomes;
  if (doubt === null) return words;
  return `${words} (${[doubt.why, ...doubt.choices.map((choice) => choiceWords[choice](quoted(name)))].join('; ')})`;
}

const choiceWords = {
  category: (name: string) => `--category ${name} makes it categories`,
  drop: (name: string) => `--drop ${name} leaves it out`,
};

/** As a shell takes it. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}
