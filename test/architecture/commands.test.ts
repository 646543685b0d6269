/** Commands of `veritrain` on the pages are commands of the program, with options that it has. */
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../apps/cli/src/program.js';
import { renderReference } from '../../apps/cli/src/reference.js';
import { committedFiles, textOf } from './tree.js';

/** What CHANGELOG.md tells of may be gone by now. */
const pages = committedFiles()
  .filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
  .map((path) => ({ path, text: textOf(path) }));

/** Lines of the ```sh blocks, a continued line with what continues it, and `veritrain …` in backticks. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block!);
  const lines = blocks.flatMap((block) => block.replace(/(\s*\\)?\n +/g, ' ').split('\n'));
  const prose = text.replace(/^```.*?^```/gms, '');
  return [...lines, ...[...prose.matchAll(/`((?:npx )?veritrain [^`]+)`/g)].map(([, line]) => line!)];
}

/** Arguments of every call of `veritrain` in a line; an option may stand in brackets or behind a bar. */
function calls(line: string): string[][] {
  const said = line.replace(/(^|\s)#.*/, '');
  return [...said.matchAll(/(?:^|[\s(])veritrain (.*?)(?= [|;&]|$)/g)].map(([, rest]) => rest!.split(/[\s[\]|]+/));
}

function unknownIn(program: Command, words: readonly string[]): string[] {
  let command = program;
  const [...rest] = words;
  for (;;) {
    const child = command.commands.find((one) => one.name() === rest[0]);
    if (child === undefined) break;
    command = child;
    rest.shift();
  }
  const isGroup = command.commands.length > 0;
  const known = new Set(['--help', '--version', ...command.options.map(({ long }) => long)]);
  return [
    ...(isGroup && /^[a-z]/.test(rest[0] ?? '') ? [rest[0]!] : []),
    ...rest.flatMap((word) => /^--[a-z][\w-]*/.exec(word)?.[0] ?? []).filter((option) => !known.has(option)),
  ];
}

const program = createProgram();
const unknownCommands = (text: string): string[] =>
  commandLines(text).flatMap((line) =>
    calls(line).flatMap((words) => unknownIn(program, words).map((unknown) => `${words.join(' ')}: ${unknown}`)),
  );

describe('commands of the pages', () => {
  it('are commands of the program, with its options', () => {
    const all = pages.flatMap(({ text }) => commandLines(text).flatMap(calls));
    expect(all.length).toBeGreaterThan(80);
    expect(pages.flatMap(({ path, text }) => unknownCommands(text).map((what) => `${path}: ${what}`))).toEqual([]);
  });

  it('would be missed', () => {
    const page = [
      'Say `veritrain job sumbit`, not `veritrain job list --limit 3` or `veritrain job`.',
      '```sh',
      'npx veritrain job watch ID --colour   # --no-such in a remark',
      'VERITRAIN_PROFILE=p npx veritrain job submit --manifest M \\',
      '  --dataset D [--assurance tee|zk [--samplez K]]',
      'veritrain policy check F | veritrain polity sign F',
      '```',
    ].join('\n');
    expect(unknownCommands(page)).toEqual([
      'job watch ID --colour : --colour',
      'job submit --manifest M --dataset D --assurance tee zk --samplez K : --samplez',
      'polity sign F: polity',
      'job sumbit: sumbit',
    ]);
  });
});

it('apps/cli/COMMANDS.md is what the commands say; npm run bless writes it', () => {
  expect(textOf('apps/cli/COMMANDS.md')).toBe(renderReference(program));
});
