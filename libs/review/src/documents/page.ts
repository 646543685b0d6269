/** Pages of Markdown that lead through facts, each marked with what it rests on. */
import type { Declared, DeclaredName } from './declared.js';
import type { Basis } from './marked.js';
import type { Training } from './training.js';

/** Heading, and rows of what is asked, the answer, and its basis. */
export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

type Row = readonly [asked: string, answer: string, basis: Basis | 'not in the evidence'];

export function fact(asked: string, answer: string | number, basis: Basis): Row {
  return [asked, String(answer), basis];
}

/** What a provider said; else what it must still say. */
export function told(asked: string, declared: Declared, name: DeclaredName): Row {
  const text = declared[name];
  return text === undefined
    ? [asked, `To be filled in by the provider (--declared, member ${name}).`, 'not in the evidence']
    : [asked, text, 'declared'];
}

export function pageOf(title: string, lead: readonly string[], sections: readonly Section[]): string {
  const parts = sections.map(({ heading, rows }) =>
    [
      `## ${heading}`,
      '',
      '| asked | answer | rests on |',
      '| --- | --- | --- |',
      ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
    ].join('\n'),
  );
  return `${[`# ${title}`, ...lead, ...parts].join('\n\n')}\n`;
}

/** Text alone: nothing of it may become markup, another cell or another line. */
function cell(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ')
    .replaceAll(/[\\`*_[\]<>|~&]/g, (mark) => `\\${mark}`);
}

export function leadOf({ bundle, jobId, verdict }: Training): readonly string[] {
  return [
    `Job ${jobId}; evidence bundle with SHA-256 ${bundle.sha256}. Verdict: **${verdict.heading}**.`,
    'Each answer says what it rests on. *Proved*: step proofs show it. *Attested*: receipts of appraised enclaves show it. *Declared*: somebody says so, and the evidence does not show it.',
  ];
}
