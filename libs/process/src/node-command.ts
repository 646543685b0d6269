/** How a Node program of this project is started: built code runs as it is, source needs a loader. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Flags of Node for programs that run from source. */
const sourceFlags: readonly string[] = ['--conditions=source', '--import', '@oxc-node/core/register'];

interface ProgramFile {
  readonly path: string;
  /** Flags of Node without which it does not load. */
  readonly flags: readonly string[];
}

function builtFileOf(source: string): string {
  let root = dirname(source);
  while (root !== dirname(root) && !existsSync(join(root, 'package.json'))) root = dirname(root);
  return join(root, 'dist', relative(root, source).replace(/\.ts$/, '.js'));
}

/**
 * From source it is source, built it is what is built. Where `VERITRAIN_BUILT` is set, as `npm test` does after it has
 * built, source starts what is built too: that is what users run, and it starts in half the time.
 *
 * @param program  path of its module from that of `caller`, without an ending
 * @param caller  `import.meta.url` of the module that starts it
 */
export function programFile(program: string, caller: string): ProgramFile {
  if (caller.endsWith('.js')) return { path: fileURLToPath(new URL(`${program}.js`, caller)), flags: [] };
  const path = fileURLToPath(new URL(`${program}.ts`, caller));
  const built = process.env['VERITRAIN_BUILT'] === '1' ? builtFileOf(path) : undefined;
  return built !== undefined && existsSync(built) ? { path: built, flags: [] } : { path, flags: sourceFlags };
}

/**
 * @param args  of the program
 * @param flags  of Node
 */
export function nodeCommand(
  program: string,
  caller: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): readonly [file: string, ...args: string[]] {
  const file = programFile(program, caller);
  return [process.execPath, ...flags, ...file.flags, file.path, ...args];
}
