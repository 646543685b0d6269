/** The plan of the folders: records below, the judge above them, and no folder that needs whoever needs it. */
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, textOf } from './tree.js';

const isSource = (path: string): boolean => !/\.(test|d)\.ts$|\/test\//.test(path);
const sourcesOf = (folder: string): string[] => filesBelow(folder, /\.ts$/).filter(isSource);

/** Folders directly below `base`, each with those that its files import. A file of `base` itself is a folder of its own. */
function arrowsBelow(base: string, texts: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const roomOf = (path: string): string => path.slice(base.length + 1).split('/')[0]!;
  const arrows = new Map<string, Set<string>>();
  for (const [path, text] of texts) {
    const out = arrows.get(roomOf(path)) ?? new Set<string>();
    for (const [, to] of text.matchAll(/\bfrom '(\.[^']+)'/g)) {
      const room = normalize(join(dirname(path), to!));
      if (room.startsWith(`${base}/`) && roomOf(room) !== roomOf(path)) out.add(roomOf(room.replace(/\.js$/, '.ts')));
    }
    arrows.set(roomOf(path), out);
  }
  return arrows;
}

const readBelow = (base: string): Map<string, string> =>
  new Map(sourcesOf(base).map((path) => [path, textOf(path)] as const));

function twoWayPairs(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...arrows].flatMap(([from, out]) =>
    [...out].filter((to) => from < to && arrows.get(to)?.has(from)).map((to) => `${from} ↔ ${to}`),
  );
}

/** The longest way down, counted in folders; a cycle counts once. */
function floors(arrows: ReadonlyMap<string, ReadonlySet<string>>): number {
  const below = (room: string, seen: readonly string[]): number =>
    1 +
    Math.max(
      0,
      ...[...(arrows.get(room) ?? [])].filter((to) => !seen.includes(to)).map((to) => below(to, [...seen, to])),
    );
  return Math.max(...[...arrows.keys()].map((room) => below(room, [room])));
}

const folderArrows = (base: string): Map<string, Set<string>> => {
  const folders = new Map([...readBelow(base)].filter(([path]) => path.slice(base.length + 1).includes('/')));
  return arrowsBelow(base, folders);
};

describe('attestation', () => {
  const arrows = folderArrows('attestation/src');

  it('has no two folders that import each other, and at most six floors', () => {
    expect(twoWayPairs(arrows)).toEqual([]);
    expect(floors(arrows)).toBeLessThanOrEqual(6);
  });

  it('is judge to few: who reads or writes records comes through the doors below', () => {
    const users = ['apps', 'enclave', 'libs', 'contracts'].flatMap(sourcesOf);
    const judges = users.filter((path) => /from '#attestation'/.test(textOf(path)));
    expect(judges.length).toBeGreaterThan(0);
    expect(judges.length).toBeLessThanOrEqual(40);
  });
});

describe('planted arrows', () => {
  const planted = new Map([
    ['x/a/one.ts', `import { two } from '../b/two.js';`],
    ['x/b/two.ts', `import { three } from '../c/three.js';`],
    ['x/c/three.ts', `import type { four } from '../b/four.js';`],
  ]);

  it('are found, types too', () => {
    expect(twoWayPairs(arrowsBelow('x', planted))).toEqual(['b ↔ c']);
    expect(floors(arrowsBelow('x', planted))).toBe(3);
  });
});
