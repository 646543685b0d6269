/** The plan of the folders: records below, the judge above them, and no folder that needs whoever needs it. */
import { basename, dirname, join, normalize } from 'node:path';
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

/** Each folder with all that it imports, directly or through others. */
function reached(arrows: ReadonlyMap<string, ReadonlySet<string>>): Map<string, Set<string>> {
  const below = (room: string, seen: Set<string>): Set<string> => {
    for (const to of arrows.get(room) ?? []) if (!seen.has(to)) below(to, seen.add(to));
    return seen;
  };
  return new Map([...arrows.keys()].map((room) => [room, below(room, new Set())]));
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
    // 40 before manifests of guests: who makes, verifies, pins and launches by them judges too; who logs reads verdicts, pins, and the digests of what it logs; who assembles a bundle spells endorsements; who looks at a host verifies its report, and who names a file that is none reads its fault.
    expect(judges.length).toBeLessThanOrEqual(54);
  });
});

/** Folders with sources and without the one file `<folder>.module.ts`. */
function foldersWithoutModule(paths: readonly string[]): string[] {
  const found = [...new Set(paths.map(dirname))];
  return found.filter((folder) => {
    const modules = paths.filter((path) => dirname(path) === folder && path.endsWith('.module.ts'));
    return modules.length !== 1 || modules[0] !== `${folder}/${basename(folder)}.module.ts`;
  });
}

describe('the control plane', () => {
  const base = 'apps/control-plane/src';
  const modules = sourcesOf(base).filter((path) => path.endsWith('.module.ts'));

  it.each(['', '/core', '/api'])('has no cycle of folders in src%s', (below) => {
    const arrows = folderArrows(`${base}${below}`);
    expect(arrows.size).toBeGreaterThan(2);
    expect(twoWayPairs(reached(arrows))).toEqual([]);
  });

  it('is made of folders that are modules', () => {
    const inFolders = sourcesOf(base).filter((path) => dirname(path) !== base);
    expect(foldersWithoutModule(inFolders)).toEqual([]);
    const folders = modules.map((path) => dirname(path).slice(base.length + 1));
    const core = ['audit', 'auth', 'config', 'events', 'idempotency', 'objects', 'overload', 'problem', 'timing'];
    expect(folders.filter((folder) => folder !== '').toSorted()).toEqual([
      ...['api', 'api/console', 'api/dispatch', 'api/graphql', 'api/rest', 'claims'],
      ...['core', ...core.map((folder) => `core/${folder}`)],
      ...['data', 'evidence', 'jobs', 'nodes', 'reports', 'settlement', 'webhooks'],
    ]);
  });

  it('imports what the table of its page says', () => {
    const rows = textOf(`${base}/README.md`).matchAll(/^\| `(\w+)\/` +\|[^|]+\| ([^|]+?) +\|$/gm);
    const told = new Map([...rows].map(([, folder, imports]) => [folder!, imports!]));
    const found = [...folderArrows(base)].map(([folder, needs]) => {
      const isAll = needs.size === told.size - 1;
      return [folder, isAll ? 'all of them' : [...needs].toSorted().join(', ') || 'nothing'] as const;
    });
    expect(told).toEqual(new Map(found));
  });

  it('is put together where nothing is provided but what the start hands in', () => {
    expect(textOf(`${base}/app.module.ts`)).not.toMatch(/\b(controllers|providers):/);
    const controllers = modules.filter((path) => /\bcontrollers:/.test(textOf(path)));
    expect(controllers.every((path) => path.startsWith(`${base}/api/`))).toBe(true);
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

  it('are found at a remove', () => {
    const round = new Map([...planted, ['x/c/three.ts', `import { one } from '../a/one.js';`] as const]);
    expect(twoWayPairs(arrowsBelow('x', round))).toEqual([]);
    expect(twoWayPairs(reached(arrowsBelow('x', round)))).toEqual(['a ↔ b', 'a ↔ c', 'b ↔ c']);
  });

  it('are found where a folder is no module, or two', () => {
    const files = ['x/a/one.ts', 'x/a/a.module.ts', 'x/b/two.ts', 'x/c/c.module.ts', 'x/c/d.module.ts'];
    expect(foldersWithoutModule(files)).toEqual(['x/b', 'x/c']);
  });
});

/** File names that stand in both folders: two of a name are the same thing written twice. */
const twice = (here: readonly string[], there: readonly string[]): string[] => {
  const names = new Set(there.map((path) => basename(path)));
  return here.filter((path) => names.has(basename(path)) && !/^(main|settings)\.ts$/.test(basename(path)));
};

describe('the two kinds of node', () => {
  it('share libs/node, and have no file of the same name', () => {
    const [host, prover] = [sourcesOf('apps/host-agent/src'), sourcesOf('apps/prover-worker/src')];
    expect([host.length, prover.length].every((count) => count > 10)).toBe(true);
    expect(twice(host, prover)).toEqual([]);
    expect(twice([...host, ...prover], sourcesOf('libs/node/src'))).toEqual([]);
  });

  it('would be found with one', () => {
    expect(twice(['a/main.ts', 'a/heartbeat.ts'], ['b/x/main.ts', 'b/x/heartbeat.ts'])).toEqual(['a/heartbeat.ts']);
  });
});
