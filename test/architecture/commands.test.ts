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

const program = await createProgram();
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

/** Commands that the words of a library are shown by: each of them has one of the options that a text names. */
const shownBy: readonly (readonly [folder: string, commands: readonly string[]])[] = [
  ['libs/data/src/', ['model init', 'model import', 'dataset seal']],
  ['libs/models/src/', ['model import']],
];
/** Options of other programs. */
const foreign = /systemctl enable --now|npm install --no-save/g;

/** Texts of more than one word within quotes that name an option. */
function sentences(source: string): string[] {
  const code = source.replace(/^ *(?:\/?\*|\/\/).*$/gm, '');
  const literals = [...code.matchAll(/'(?:\\.|[^'\n\\])*'|"(?:\\.|[^"\n\\])*"|`(?:\\.|[^`\\])*`/g)].map(
    ([text]) => text,
  );
  return literals.filter((text) => / /.test(text) && /--[a-z]/.test(text.replace(foreign, '')));
}

const optionsOf = (command: Command): readonly (string | undefined)[] => command.options.map(({ long }) => long);
const allOptions = (command: Command): readonly (string | undefined)[] => [
  ...optionsOf(command),
  ...command.commands.flatMap(allOptions),
];
const everyOption = new Set(['--help', ...allOptions(program)]);

function commandOf(name: string): Command {
  return name.split(' ').reduce((command, word) => command.commands.find((one) => one.name() === word)!, program);
}

/** What a text names that no command has, or not the ones that show it, unless it says `--option of that command`. */
function misleading(path: string, text: string): string[] {
  const named = [...text.replace(foreign, '').matchAll(/(--[a-z][\w-]*)(?: of ((?:model|dataset) [a-z]+))?/g)];
  const [, shown = []] = shownBy.find(([folder]) => path.startsWith(folder)) ?? [];
  const gone = named.filter(([, option, of]) =>
    of === undefined ? !everyOption.has(option!) : !optionsOf(commandOf(of)).includes(option!),
  );
  const isSaidOfOne = named.some(([, , of]) => of !== undefined);
  const without = shown.filter((name) => !named.some(([, option]) => optionsOf(commandOf(name)).includes(option!)));
  return [...gone.map(([, option]) => option!), ...(isSaidOfOne ? [] : without.map((name) => `not of ${name}`))];
}

describe('options that texts of the program name', () => {
  const sources = committedFiles().filter((path) => /^(?:libs|apps\/cli)\/.*(?<!\.test)\.ts$/.test(path));
  const said = sources.flatMap((path) => sentences(textOf(path)).map((text) => ({ path, text })));

  it('are options of the commands that say so', () => {
    expect(said.length).toBeGreaterThan(80);
    expect(said.flatMap(({ path, text }) => misleading(path, text).map((what) => `${path}: ${what}: ${text}`))).toEqual(
      [],
    );
  });

  it('would be missed', () => {
    const source = [
      "refuse('drop it (--dropp)');",
      'spawn(["--import"]); // --gone',
      'f(`say --axis ${name}=1`);',
    ].join('\n');
    const found = (path: string): string[] => sentences(source).flatMap((text) => misleading(path, text));
    expect(found('libs/client/src/x.ts')).toEqual(['--dropp']);
    expect(misleading('libs/data/src/x.ts', "'say --category'")).toEqual(['not of dataset seal']);
    expect(misleading('libs/data/src/x.ts', "'say --category of model init'")).toEqual([]);
    expect(misleading('libs/models/src/x.ts', "'say --folder'")).toEqual(['not of model import']);
  });
});
