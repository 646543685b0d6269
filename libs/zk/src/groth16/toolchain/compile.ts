/** Compiles circom text with the WebAssembly build of circom, in a folder of its own. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigurationError } from '#attestation/base';
import { includedSources } from '../relation/circuit.js';
import { optionalFile } from './packages.js';
import type { ToolRequest } from './protocol.js';

type CompileRequest = Extract<ToolRequest, { op: 'compile' }>;

/**
 * Makes `folder` with circuit.circom, circuit.r1cs, circuit.wasm and circuit.sym.
 *
 * @throws ConfigurationError BACKEND_UNAVAILABLE, GROTH16_COMPILE
 */
export async function compile({ folder, text, simplify }: CompileRequest): Promise<Record<string, never>> {
  const cli = optionalFile('circom2/cli.js');
  await mkdir(folder);
  await writeFile(join(folder, 'circuit.circom'), text);
  // The compiler's sandbox sees its folder alone.
  const sources = includedSources.map((name) => join(folder, name));
  for (const path of sources) await copyFile(optionalFile(`circomlib/circuits/${basename(path)}`), path);
  const args = [cli, 'circuit.circom', '--r1cs', '--wasm', '--sym', `--${simplify ?? 'O2'}`, '-o', '.'];
  await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1 << 24 }).catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new ConfigurationError('GROTH16_COMPILE', {
      expected: 'a circuit that compiles',
      got: `${stdout}${stderr}`.slice(-400) || 'no output of the compiler',
      rule: 'libs/zk/src/groth16/SPEC.md §3',
    });
  });
  await rename(join(folder, 'circuit_js', 'circuit.wasm'), join(folder, 'circuit.wasm'));
  await Promise.all([...sources, join(folder, 'circuit_js')].map((path) => rm(path, { recursive: true })));
  return {};
}
