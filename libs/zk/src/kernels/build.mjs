/**
 * Compiles assembly/index.ts to generated/kernels.ts (the module's bytes as base64). The output is a pure function of
 * the sources and of the pinned compiler: kernels.test.ts compiles again and compares.
 * Usage: node libs/zk/src/kernels/build.mjs
 */
import { fileURLToPath } from 'node:url';
import { writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const options = [
  ...['--runtime', 'stub', '--importMemory', '--sharedMemory'],
  ...['--initialMemory', '1', '--maximumMemory', '65536'],
  ...['--enable', 'simd', '--enable', 'threads', '--optimizeLevel', '3', '--shrinkLevel', '0', '--noAssert'],
  ...['--use', 'abort='],
];

/** @returns {Promise<Uint8Array>} the module's bytes */
export async function compileKernels() {
  const outputs = new Map();
  const { error, stderr } = await asc.main(
    ['index.ts', '--baseDir', here('assembly'), '-o', 'kernels.wasm', ...options],
    {
      writeFile: (name, contents) => void outputs.set(name, contents),
    },
  );
  if (error) throw new Error(stderr.toString());
  return outputs.get('kernels.wasm');
}

/** @returns {string} the source text of generated/kernels.ts for these bytes */
export function generatedSource(bytes) {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .match(/.{1,100}/g);
  return [
    '/** WebAssembly module of the kernels, base64. Made by build.mjs from assembly/; do not edit. */',
    'export const KERNELS_BASE64 =',
    lines.map((line) => `  '${line}'`).join(' +\n') + ';',
    '',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(here('generated/kernels.ts'), generatedSource(await compileKernels()));
}
