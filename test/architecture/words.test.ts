/** What is committed: the glossary's words, no trace of a machine, no loose ends. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { committedFiles, root, textOf } from './tree.js';

const made =
  /^(package-lock\.json|libs\/settlement\/src\/types\/|libs\/zk\/src\/commit\/kernels\/generated\/|contracts\/abi\/)/;
const written = /\.(ts|tsx|mjs|cjs|sol|md|json|sql|graphql|toml|sh)$|^\.ci\/run$/;
/** The tests of the rules hold what the rules forbid. */
const about = /^(GLOSSARY\.md|test\/architecture\/)/;

const files = committedFiles()
  .filter((path) => written.test(path) && !made.test(path) && !about.test(path))
  .map((path) => ({ path, text: textOf(path) }));

/** Lines that match, as `file:line: found`. */
function linesWith(pattern: RegExp, among: readonly { readonly path: string; readonly text: string }[]): string[] {
  return among.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const [found] = pattern.exec(line) ?? [];
      return found === undefined ? [] : [`${path}:${index + 1}: ${found}`];
    }),
  );
}

/** Words in backticks of the last column of GLOSSARY.md's tables. */
function synonyms(): string[] {
  const rows = textOf('GLOSSARY.md')
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return rows
    .map((row) => row.split('|').slice(1, -1))
    .filter((cells) => cells.length === 3)
    .flatMap((cells) => [...cells[2]!.matchAll(/`([^`]+)`/g)].map(([, word]) => word!));
}

/** Words of the first column, each by itself. */
function glossaryWords(): string[] {
  const rows = textOf('GLOSSARY.md').match(/^\| .*/gm) ?? [];
  return rows.flatMap((row) => row.split('|')[1]!.trim().split(', ')).filter((word) => !/^(-+|word)$/.test(word));
}

/** `key binding` stands in code as `keyBinding`, `KEY_BINDING` or in prose, on one line or two. */
function nameOf(word: string): RegExp {
  return new RegExp(word.replace(/[ -]/g, '[\\s*_-]*'), 'i');
}

describe('words', () => {
  it('of the glossary are names in the code', () => {
    const code = files.filter(({ path }) => /\.(ts|sol)$/.test(path)).map(({ text }) => text);
    expect(glossaryWords().length).toBeGreaterThan(50);
    expect(glossaryWords().filter((word) => !code.some((text) => nameOf(word).test(text)))).toEqual([]);
    expect(
      ['keyBinding', 'KEY_BINDING', 'key\n * binding'].filter((text) => !nameOf('key binding').test(text)),
    ).toEqual([]);
    expect(nameOf('key binding').test('a key that binds')).toBe(false);
  });

  it('reads the glossary', () => {
    expect(synonyms().length).toBeGreaterThan(20);
  });

  it.each(synonyms())('%s is not used', (word) => {
    expect(linesWith(new RegExp(`\\b${word.replaceAll(' ', '[ -]?')}s?\\b`, 'i'), files)).toEqual([]);
  });
});

const forbidden: readonly (readonly [what: string, pattern: RegExp, planted: string])[] = [
  ['a path of one machine', /(^|[\s"'`(=:])\/(home|root|Users|work|mnt|media)\/\w+/, "readFileSync('/home/me/x')"],
  ['a drive of one machine', /\b[A-Z]:\\\\?(Users|Windows|Documents)/, 'C:\\Users\\me'],
  [
    'a package host',
    /\b(registry|npm|packages|artifactory|nexus)\.[a-z0-9-]+\.(org|com|io|dev|net|local|internal)\b/,
    'https://registry.example.org/x',
  ],
  ['a folder beside the repository', /\.\.\/shared\/(?!vectors)\w+/, '../shared/notes'],
  ['a private key', /-----BEGIN (\w+ )?PRIVATE KEY-----/, '-----BEGIN EC PRIVATE KEY-----'],
  ['a merge left open', /^(<{7}|>{7}|={7}$)/, '<<<<<<< HEAD'],
  ['a note to self', /\b(TODO|FIXME|XXX|HACK)\b/, '// TODO: finish'],
  [
    'a focused or skipped test without a condition',
    /\b(describe|it|test)\.(only|skip|todo)\(/,
    "it.only('x', () => {})",
  ],
];

describe('what is committed holds no', () => {
  it.each(forbidden)('%s', (_what, pattern) => {
    expect(linesWith(pattern, files)).toEqual([]);
  });

  it.each(forbidden)('%s: catches a plant', (_what, pattern, planted) => {
    expect(linesWith(pattern, [{ path: 'planted', text: `first\n${planted}` }])).toHaveLength(1);
  });
});

it('the lock file names no host', () => {
  expect(textOf('package-lock.json')).not.toMatch(/"resolved":/);
});

/** Built output and secrets never get in; images and binary vectors stay small. */
it('commits no built output and nothing large', () => {
  const paths = committedFiles();
  expect(paths.filter((path) => /(^|\/)(dist|node_modules|coverage|\.veritrain)\//.test(path))).toEqual([]);
  expect(paths.filter((path) => readFileSync(join(root, path)).length > 2 * 1024 * 1024)).toEqual([]);
});
