import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { compileKernels, generatedSource } from './build.mjs';

it('compiling the sources again gives the committed module, byte for byte', async () => {
  const committed = await readFile(new URL('./generated/kernels.ts', import.meta.url), 'utf8');
  expect(generatedSource(await compileKernels())).toBe(committed);
});
