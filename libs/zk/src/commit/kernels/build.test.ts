import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { generatedSource, modules } from './build.mjs';

it.each(modules)('compiling again gives the committed $target, byte for byte', async (module) => {
  const committed = await readFile(new URL(module.target, import.meta.url), 'utf8');
  expect(await generatedSource(module)).toBe(committed);
});
