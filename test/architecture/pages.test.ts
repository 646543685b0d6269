/** The pages say what is there: links, commands, settings, paths and the clauses that failures cite. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { committedFiles, root, textOf } from './tree.js';

const files = committedFiles();
const pages = files.filter((path) => path.endsWith('.md')).map((path) => ({ path, text: textOf(path) }));
const code = files
  .filter((path) => /^(apps|attestation|enclave|libs)\/.*\.(ts|mjs)$/.test(path) && !/\.test\.ts$|\/test\//.test(path))
  .map((path) => ({ path, text: textOf(path) }));

const unfenced = (text: string): string => text.replace(/^```.*?^```/gms, '');

describe('links', () => {
  it('lead to files of the repository', () => {
    const broken = pages.flatMap(({ path, text }) =>
      [...unfenced(text).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('of SECURITY.md name files that exist', () => {
    const named = [...textOf('SECURITY.md').matchAll(/`([\w.-]+\/[\w./-]+\.(?:ts|sol|json|cjs))`/g)];
    expect(named.length).toBeGreaterThan(20);
    expect(named.map(([, path]) => normalize(path!)).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

/** `a/{b,c}.test.ts` names two files. */
function spelledOut(path: string): string[] {
  const [whole, within] = /\{([^{}]+)\}/.exec(path) ?? [];
  return whole === undefined ? [path] : within!.split(',').flatMap((name) => spelledOut(path.replace(whole, name)));
}

function globOf(path: string): RegExp {
  const words = path
    .split(/(\*\*\/|\*)/)
    .map((part) => ({ '**/': '(.*/)?', '*': '[^/]*' })[part] ?? part.replaceAll('.', '\\.'));
  return new RegExp(`^${words.join('')}$`);
}

const committed = new Set(files);
/** A page cites what is below its own folder, or in the `test` of it, by the rest of the path. @returns paths in the repository; none where nothing is so called */
function citedFiles(page: string, path: string): string[] {
  if (path.includes('*')) return files.filter((file) => globOf(path).test(file));
  return [path, join(dirname(page), path), join(dirname(page), 'test', path)]
    .map(normalize)
    .filter((file) => committed.has(file))
    .slice(0, 1);
}

interface Citation {
  readonly page: string;
  readonly path: string;
  /** Titles, or their beginnings, that are cited of it. */
  readonly names: readonly string[];
}

function citations(page: string, text: string): Citation[] {
  const found = unfenced(text).matchAll(/`([\w./{},*@-]+\.(?:test\.ts|t\.sol))`(?:\s*\(([^)]*)\))?/g);
  return [...found].flatMap(([, path, aside = '']) => {
    const names = [...aside.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).filter((name) => !name.endsWith('/'));
    return spelledOut(path!).map((one) => ({ page, path: one, names }));
  });
}

function unfounded({ page, path, names }: Citation): string[] {
  const found = citedFiles(page, path);
  if (found.length === 0) return [`${page} → ${path}`];
  const texts = found.map((file) => textOf(file)).join('\n');
  return names.filter((name) => !texts.includes(name)).map((name) => `${page} → ${path}: ${name}`);
}

describe('tests that the pages cite', () => {
  it('exist, under the titles that are cited', () => {
    const all = pages.flatMap(({ path, text }) => citations(path, text));
    expect(all.length).toBeGreaterThan(150);
    expect(all.flatMap(unfounded)).toEqual([]);
    const inSolidity = files
      .filter((path) => path.endsWith('.t.sol'))
      .map(textOf)
      .join('\n');
    const functions = pages.flatMap(({ text }) =>
      [...text.matchAll(/`(test(?:Fuzz)?_\w+)`/g)].map(([, name]) => name!),
    );
    expect(functions.filter((name) => !inSolidity.includes(`function ${name}(`))).toEqual([]);
  });

  it('would be missed', () => {
    const page = 'SECURITY.md';
    const said = '`apps/{cli,no}/src/program.test.ts` (`W-H2`, `W-H999`) and `attestation/**/nothing.test.ts`';
    expect(citations(page, said).flatMap(unfounded)).toEqual([
      `${page} → apps/cli/src/program.test.ts: W-H999`,
      `${page} → apps/no/src/program.test.ts`,
      `${page} → attestation/**/nothing.test.ts`,
    ]);
  });

  it('stand in every row of SECURITY.md that says what is enforced, and no row and no table stands twice', () => {
    const tables = textOf('SECURITY.md')
      .split(/\n(?!\|)/)
      .map((block) => block.split('\n').filter((line) => line.startsWith('|')));
    const rows = tables
      .filter((table) => table.length > 0)
      .map((table) => table.map((row) => row.slice(1, -1).split('|')));
    expect(rows.map(([head]) => head!.at(-1)!.trim())).toEqual([
      'can do at worst',
      'shown by',
      'shown by',
      'tested by',
    ]);
    for (const table of rows) expect(new Set(table.map(([first]) => first!.trim())).size).toBe(table.length);
    const enforced = rows.slice(1).flatMap((table) => table.slice(2));
    expect(enforced.length).toBeGreaterThan(60);
    const uncited = enforced.filter((row) => !/\.(test\.ts|t\.sol)`|`test\/architecture\//.test(row.slice(-2).join()));
    expect(uncited.map(([first]) => first!.trim())).toEqual([]);
  });
});

it('commands of the pages are scripts of package.json', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[a-z][\w:-]*)/g)].map(([, name]) => ({ path, name: name! })),
  );
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter(({ name }) => !(name in scripts))).toEqual([]);
});

it('every setting that the code reads is on a page', () => {
  const read = new Set(
    code.flatMap(({ text }) => [...text.matchAll(/\bVERITRAIN_[A-Z]+(?:_[A-Z]+)*\b/g)].map(([name]) => name)),
  );
  const described = pages.map(({ text }) => text).join('\n');
  expect(read.size).toBeGreaterThan(10);
  expect([...read].filter((name) => !described.includes(name))).toEqual([]);
});

it('every dependency has its line in DECISIONS.md', () => {
  const { dependencies, devDependencies } = JSON.parse(textOf('package.json')) as Record<string, object>;
  const page = textOf('DECISIONS.md');
  const names = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !name.startsWith('@types/'));
  const stands = (name: string): boolean => new RegExp(`(^|[ /|])${name.split('/').at(-1)}[ ,]`, 'm').test(page);
  expect(names.filter((name) => !stands(name))).toEqual([]);
});

describe('every library', () => {
  const libraries = [...new Set(files.map((path) => /^libs\/[^/]+/.exec(path)?.[0]))].filter(
    (path) => path !== undefined,
  );

  it.each(libraries)('%s has a page of at most 30 lines that names its modules and whoever imports it', (library) => {
    const page = textOf(`${library}/README.md`);
    expect(page.split('\n').length - 1).toBeLessThanOrEqual(30);
    const modules = [...page.matchAll(/^\| (`.*?) *\|/gm)].flatMap(([, cell]) => cell!.match(/[\w./-]+/g) ?? []);
    const gone = modules.filter((name) => !existsSync(join(root, library, 'src', name)));
    const there = code
      .map(({ path }) => path)
      .filter((path) => path.startsWith(`${library}/src/`) && !path.endsWith('/src/index.ts'))
      .map((path) => path.slice(`${library}/src/`.length).replace(/\/.*/, '/'));
    expect({ gone, unnamed: [...new Set(there)].filter((name) => !modules.includes(name)) }).toEqual({
      gone: [],
      unnamed: [],
    });
    const importers = code
      .filter(({ path, text }) => !path.startsWith(library) && text.includes(`'#${library}`))
      .map(({ path }) => /^(?:apps|libs)\/[^/]+|^[^/]+/.exec(path)![0]);
    const allowed = /^May be imported by: ([^.]+)\./ms.exec(page)![1]!.split(/,\s+/);
    expect([...new Set(importers)].filter((part) => !allowed.includes(part))).toEqual([]);
  });
});

describe('every folder of attestation, the enclave, what the demo starts, migrations and test', () => {
  const judge = [...new Set(files.map((path) => /^attestation\/src\/[^/]+(?=\/)/.exec(path)?.[0]))];
  const rooms = [...judge, 'apps/cli/src/system', 'enclave', 'migrations', 'test'].filter((path) => path !== undefined);

  it.each(rooms)('%s has a page of at most 30 lines that names its modules', (room) => {
    const page = textOf(`${room}/README.md`);
    expect(page.split('\n').length - 1).toBeLessThanOrEqual(30);
    expect(page).toMatch(/\bimport(ed|s)?\b/);
    const within = room === 'enclave' ? 'enclave/src/' : `${room}/`;
    const modules = [...page.matchAll(/^\| (`.*?) *\|/gm)].flatMap(([, cell]) => cell!.match(/(?<=`)[\w./-]+/g) ?? []);
    const there = files
      .filter((path) => path.startsWith(within))
      .map((path) => path.slice(within.length).replace(/\/.*/, '/'))
      .filter((name) => !/(\.test\.ts|\.md)$|^\d/.test(name));
    expect({
      gone: modules.filter((name) => !there.includes(name)),
      unnamed: [...new Set(there)].filter((name) => !modules.includes(name) && name !== 'index.ts'),
    }).toEqual({ gone: [], unnamed: [] });
  });
});

/** The first page, one a reader, and what a folder holds. */
const screens = files.filter((path) =>
  /^(README|CONTRIBUTING)\.md$|^contracts\/(AUDITOR|README)\.md$|^apps\/cli\/\w+\.md$|^apps\/[\w-]+\/(DATA-OWNER|OPERATOR)\.md$|^(attestation|enclave|libs|migrations|test)\/.*README\.md$/.test(
    path,
  ),
);

it.each(screens)('%s fits on a screen: no line is wider than 120 characters', (path) => {
  expect(
    textOf(path)
      .split('\n')
      .filter((line) => line.length > 120),
  ).toEqual([]);
});

describe('decisions', () => {
  const entries = [...textOf('DECISIONS.md').matchAll(/^- .*/gm)].map(([line]) => line);
  const numbers = entries.map((line) => /^- D(\d+), \d{4}-\d\d-\d\d\. \*\*\S/.exec(line)?.[1]);

  it('have a number, a date and a title each, and no number stands twice or is left out', () => {
    expect(entries.filter((_, index) => numbers[index] === undefined)).toEqual([]);
    expect(numbers.map(Number).toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  });

  it('that are cited stand', () => {
    const own = [...textOf('DECISIONS.md').matchAll(/\b(?:by|replaces) D(\d+)\b/g)];
    const others = [...pages, ...code].flatMap(({ text }) => [...text.matchAll(/DECISIONS\.md D(\d+)\b/g)]);
    expect([...own, ...others].filter(([, number]) => !numbers.includes(number)).map(([found]) => found)).toEqual([]);
  });
});

/** Singular words of a heading or clause. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z][a-z0-9/]*/g) ?? []).map((word) => word.replace(/s$/, ''));
}

/** `5.2` and `limits` both stand in `## 5.2 Bytes and limits`. */
function stands(clause: string, text: string): boolean {
  const headings = [...unfenced(text).matchAll(/^#{2,5} (.+)$/gm)].map(([, heading]) => heading!);
  if (/^\d/.test(clause)) return headings.some((heading) => new RegExp(`^${clause}(?![.\\d]*[\\da-z])`).test(heading));
  return headings.some((heading) => wordsOf(clause).every((word) => wordsOf(heading).includes(word)));
}

/** The code, its tests, the contracts and the pages. What has been said in CHANGELOG.md is not said again. */
const citing = files
  .filter((path) => /\.(ts|mjs|sol|md)$/.test(path) && !/^(CHANGELOG\.md|test\/architecture\/)/.test(path))
  .map((path) => ({ path, text: textOf(path) }));

interface Clause {
  readonly page: string;
  readonly clause: string;
}

/** What a text cites: `libs/step/SPEC.md §1, §2.1` three words or two sections, `enclave/SPEC.md, start` a heading. */
function clausesOf(text: string): Clause[] {
  const line = text.replace(/\n *(?:\*|\/\/\/?)? */g, ' ');
  const sections = line.matchAll(/([\w./-]+\.md)`? (§[\da-z.]+(?:(?:,| and| to) §[\da-z.]+)*)/g);
  const headings = line.matchAll(/([\w./-]+\.md), ([a-z][a-z\d -]*?[a-z\d])(?=['`").,;:])/g);
  return [
    ...[...sections].flatMap(([, page, all]) =>
      [...all!.matchAll(/§(\d+[a-z]?(?:\.\d+)*)/g)].map(([, clause]) => ({ page: page!, clause: clause! })),
    ),
    ...[...headings].map(([, page, clause]) => ({ page: page!, clause: clause! })),
  ];
}

const nicknames =
  /\b(?:tee-evidence|(?:fixed-point|step-proof|(?<!\.)settlement)(?= §)|(?:attestation|contracts|enclave|groth16|proof|step|zk) SPEC|(?<![/\w])SPEC(?= §)|control-plane README)\b/i;

function unfoundedClauses(text: string): string[] {
  return clausesOf(text)
    .filter(({ page, clause }) => !committed.has(page) || !stands(clause, textOf(page)))
    .map(({ page, clause }) => `${page} ${clause}`);
}

describe('clauses that code and pages cite', () => {
  it('stand in the page that is named by its path', () => {
    expect(citing.flatMap(({ text }) => clausesOf(text)).length).toBeGreaterThan(800);
    const missing = citing.flatMap(({ path, text }) => unfoundedClauses(text).map((clause) => `${path}: ${clause}`));
    expect(missing).toEqual([]);
  });

  it('are cited by no nickname of a page', () => {
    expect(
      citing.flatMap(({ path, text }) => (nicknames.test(text) ? [`${path}: ${nicknames.exec(text)![0]}`] : [])),
    ).toEqual([]);
  });

  it('would be missed', () => {
    const said =
      "/**\n * See libs/step/SPEC.md\n * §2, §99 and enclave/SPEC.md, start, or 'enclave/SPEC.md, no such thing' (no/SPEC.md §1).\n */";
    expect(unfoundedClauses(said)).toEqual(['libs/step/SPEC.md 99', 'no/SPEC.md 1', 'enclave/SPEC.md no such thing']);
    const nicknamed = [
      'as in step-proof §4',
      'fixed-point §2.',
      'Settlement §3',
      'SPEC §4',
      'tee-evidence',
      'enclave SPEC, lease',
    ];
    expect(nicknamed.filter((text) => !nicknames.test(text))).toEqual([]);
    expect(
      ['libs/zk/SPEC.md §4', '`settlement` §', 'fixed-point arithmetic'].filter((text) => nicknames.test(text)),
    ).toEqual([]);
  });
});

it('catches a clause that does not stand', () => {
  const page = '# Page\n\n## 5.2 Bytes and limits\n\n## Job states\n';
  expect(['5.2', 'limits', 'job states', 'jobs'].filter((clause) => !stands(clause, page))).toEqual([]);
  expect(['5', '5.20', '6', 'messages'].filter((clause) => stands(clause, page))).toEqual([]);
});
