import { defineConfig } from 'vitest/config';

/** Tests of whole systems, minutes long: `npm test -- --wide` runs them, and them alone. */
const wide = '**/*.wide.test.ts';
const isWide = process.env['VERITRAIN_WIDE'] === '1';

// Never add `import` or `module` to these conditions: Vitest hands them to Node, which then loads what is meant for bundlers.
export default defineConfig({
  // As Node resolves it: a second copy has errors of another class.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  ssr: { resolve: { conditions: ['source', 'node', 'development|production'] } },
  test: {
    include: [isWide ? wide : '**/*.test.ts'],
    exclude: ['**/node_modules/**', 'dist/**', ...(isWide ? [] : [wide])],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes; how soon is up to the machine.
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
  },
});
