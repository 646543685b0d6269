/**
 * Compiles the entry points of assembly/ to generated files, each module's bytes as base64. The output is a pure function of the sources and of the pinned compiler: build.test.ts
 * compiles again and compares.
 * Usage: node libs/zk/src/commit/kernels/build.mjs
 */
import { fileURLToPath } from 'node:url';
import { writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const common = [
  ...['--runtime', 'stub', '--enable', 'simd', '--optimizeLevel', '3', '--shrinkLevel', '0', '--noAssert'],
  ...['--use', 'abort='],
];

/** Source, generated file and options of every module. */
export const modules = [
  {
    source: 'index.ts',
    target: 'generated/kernels.ts',
    what: 'the kernels',
    options: [
      ...['--importMemory', '--sharedMemory', '--enable', 'threads'],
      ...['--initialMemory', '1', '--maximumMemory', '65536'],
    ],
  },
  {
    source: 'verifier.ts',
    target: '../keccak-module.ts',
    what: "the verifier's hash",
    options: ['--initialMemory', '4', '--maximumMemory', '4'],
  },
  {
    source: 'scalar.ts',
    target: '../field/scalar-module.ts',
    what: 'field elements',
    options: ['--initialMemory', '4', '--maximumMemory', '4'],
  },
];

/** @returns {Promise<Uint8Array>} the module's bytes */
async function compile({ source, options }) {
  const outputs = new Map();
  const { error, stderr } = await asc.main(
    [source, '--baseDir', here('assembly'), '-o', 'module.wasm', ...common, ...options],
    { writeFile: (name, contents) => void outputs.set(name, contents) },
  );
  if (error) throw new Error(stderr.toString());
  return outputs.get('module.wasm');
}

/** @returns {Promise<string>} the text of a module's generated file */
export async function generatedSource(module) {
  const lines = Buffer.from(await compile(module))
    .toString('base64')
    .match(/.{1,100}/g);
  return [
    `/** WebAssembly module of ${module.what}, base64. Made by kernels/build.mjs from assembly/; do not edit. */`,
    'export const MODULE_BASE64 =',
    lines.map((line) => `  '${line}'`).join(' +\n') + ';',
    '',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const module of modules) await writeFile(here(module.target), await generatedSource(module));
}
