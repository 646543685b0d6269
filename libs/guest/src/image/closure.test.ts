/** What a program loads, on made programs: packages of both kinds of modules, and what is refused. */
import { describe, expect, it } from 'vitest';
import { programFiles } from './closure.js';

const program = (files: Readonly<Record<string, string>>, more: Partial<Parameters<typeof programFiles>[0]> = {}) => ({
  ...{ entries: ['dist/main.js'], without: [], loaded: [], absent: [], imports: {}, packages: [] },
  read: (path: string) => (path in files ? Buffer.from(files[path]!) : undefined),
  ...more,
});

describe('a program', () => {
  it('has what its modules import, name, require and re-export, and what says how they are read', () => {
    const files = {
      'dist/main.js': `import fs from 'node:fs';\nimport{a}from"./a.js";\nexport * from 'esm/sub';\n// import './comment.js';`,
      'dist/a.js': `/* import './no.js' */ const { b } = await import('#libs/b'); import 'cjs';`,
      'dist/libs/b/src/index.js': `export const b = 'import';`,
      'node_modules/esm/package.json': JSON.stringify({
        exports: { './*': { types: './*.d.ts', import: './lib/*.js', require: './no.js' } },
      }),
      'node_modules/esm/lib/package.json': '{"type":"module"}',
      'node_modules/esm/lib/sub.js': `import 'cjs';`,
      'node_modules/cjs/package.json': '{"main":"dist/index"}',
      'node_modules/cjs/dist/index.js': `const x = require('./x'); try { require('tried'); } catch {} require("zlib");`,
      'node_modules/cjs/dist/x.js': `require('inner')`,
      'node_modules/cjs/node_modules/inner/package.json': '{}',
      'node_modules/cjs/node_modules/inner/index.js': '',
      'node_modules/inner/package.json': '{}',
      'node_modules/inner/index.js': `require('./other')`,
    };
    const packages = ['node_modules/esm', 'node_modules/cjs', 'node_modules/cjs/node_modules/inner'];
    const imports = { '#libs/*': { source: './libs/*/src/index.ts', default: './dist/libs/*/src/index.js' } };
    expect(programFiles(program(files, { packages, imports, absent: ['tried'] }))).toEqual(
      Object.keys(files)
        .filter((path) => !path.startsWith('node_modules/inner'))
        .toSorted(),
    );
  });

  it.each<[string, Readonly<Record<string, string>>, Partial<Parameters<typeof programFiles>[0]>]>([
    ['a package that is not of the image', { 'dist/main.js': `import 'other';` }, {}],
    ['a file that is not there', { 'dist/main.js': `import './gone.js';` }, {}],
    [
      'what is left out, imported for good',
      { 'dist/main.js': `import './out.js';`, 'dist/out.js': '' },
      { without: ['dist/out.js'] },
    ],
    [
      'a package of the image that nothing loads',
      { 'dist/main.js': '', 'node_modules/idle/package.json': '{}' },
      { packages: ['node_modules/idle'] },
    ],
    [
      'a path that the package does not export',
      {
        'dist/main.js': `import 'esm/inside.js';`,
        'node_modules/esm/inside.js': '',
        'node_modules/esm/package.json': '{"exports":"./x.js"}',
      },
      { packages: ['node_modules/esm'] },
    ],
  ])('GUEST_CLOSURE: %s', (_, files, more) => {
    expect(() => programFiles(program(files, more))).toThrow('GUEST_CLOSURE');
  });

  it('does without what is loaded by name alone and left out', () => {
    const files = { 'dist/main.js': `await import('./out.js');`, 'dist/out.js': '' };
    expect(programFiles(program(files, { without: ['dist/out.js'] }))).toEqual(['dist/main.js']);
  });
});
