/** No name is exported that nobody imports: what only its own file uses stays there. */
import { describe, expect, it } from 'vitest';
import { unusedExports } from './exports.js';
import { filesBelow, folders, textOf } from './tree.js';

const { imports } = JSON.parse(textOf('package.json')) as { imports: Record<string, { source: string }> };
const doors = Object.fromEntries(Object.entries(imports).map(([name, { source }]) => [name, source.slice(2)]));

/** Typechain writes the first; the second is AssemblyScript, with a compiler of its own. */
const isOther = (path: string): boolean => /^libs\/settlement\/src\/types\/|\/kernels\/assembly\//.test(path);

/** The doors of attestation are for others too; benchmarks are found by their names, alter-hooks.ts by its path. */
const isEntry = (path: string): boolean =>
  isOther(path) ||
  /^attestation\/src\/((base|log|records)\/)?index\.ts$|\.bench\.ts$|^test\/faults\/alter-hooks\.ts$/.test(path);

it('holds over the repository', () => {
  const paths = folders.flatMap((folder) => filesBelow(folder, /(?<!\.d)\.m?tsx?$/));
  const sources = new Map(paths.map((path) => [path, textOf(path)]));
  expect(unusedExports(sources, doors, isEntry)).toEqual([]);
});

describe('planted exports', () => {
  const unused = (sources: Record<string, string>): string[] =>
    unusedExports(new Map(Object.entries(sources)), { '#libs/*': 'libs/*/src/index.ts' }, () => false);

  it('are found where nobody imports them, types and values', () => {
    const text = 'export const a = 1, { b, c: [d] } = f(); export type T = string; export default class {}';
    expect(unused({ 'x.ts': text })).toEqual(['x.ts a', 'x.ts b', 'x.ts d', 'x.ts T', 'x.ts default']);
  });

  it('are used through a door, and the door itself is no user', () => {
    const lib = { 'libs/a/src/one.ts': 'export const one = 1, two = 2;' };
    const door = { 'libs/a/src/index.ts': `export { one, two as zwei } from './one.js';` };
    const user = { 'x.ts': `import { one } from '#libs/a';` };
    expect(unused({ ...lib, ...door })).toHaveLength(4);
    expect(unused({ ...lib, ...door, ...user })).toEqual(['libs/a/src/one.ts two', 'libs/a/src/index.ts zwei']);
  });

  it('are used by name through a namespace, a star and a dynamic import', () => {
    const lib = { 'one.ts': 'export const a = 1, b = 2, c = 3, d = 4, e = 5;', 'star.ts': `export * from './one.js';` };
    const user = `
      import * as n from './star.js';
      const { b } = await import('./one.js');
      type C = typeof import('./one.js').c;
      console.log(n.a, b, (await import('./one.js')).d);`;
    expect(unused({ ...lib, 'x.ts': user })).toEqual(['one.ts e']);
    expect(unused({ ...lib, 'x.ts': `import * as n from './star.js'; f(n);` })).toEqual([]);
  });
});
