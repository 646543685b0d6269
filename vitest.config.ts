import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Tests of whole systems, minutes long: `npm test -- --wide` runs them, and them alone. */
const wide = '**/*.wide.test.ts';
const isWide = process.env['VERITRAIN_WIDE'] === '1';
const excluded = ['**/node_modules/**', 'dist/**'];

/** Tests that put other modules in place of ours need a process of their own; the rest share theirs, and load each module once. */
const replacesModules = /\bvi\.(mock|doMock|resetModules)\(/;
const alone = ['apps', 'attestation', 'contracts', 'enclave', 'libs', 'test']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`))
  .filter(
    (path) =>
      path.endsWith('.test.ts') && !path.endsWith('.wide.test.ts') && replacesModules.test(readFileSync(path, 'utf8')),
  );

// Never add `import` or `module` to these conditions: Vitest hands them to Node, which then loads what is meant for bundlers.
export default defineConfig({
  // As Node resolves it: a second copy has errors of another class.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  ssr: { resolve: { conditions: ['source', 'node', 'development|production'] } },
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes; how soon is up to the machine.
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    projects: isWide
      ? [{ extends: true, test: { name: 'wide', include: [wide], exclude: excluded } }]
      : [
          {
            extends: true,
            test: { name: 'shared', isolate: false, include: ['**/*.test.ts'], exclude: [...excluded, wide, ...alone] },
          },
          { extends: true, test: { name: 'alone', include: alone, exclude: excluded } },
        ],
  },
});
