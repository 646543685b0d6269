/** How a Node program of this project is started: built code runs as it is, source needs a loader. */
import { fileURLToPath } from 'node:url';

/** Flags of Node for programs that run from source. */
const sourceFlags: readonly string[] = ['--conditions=source', '--import', '@oxc-node/core/register'];

/**
 * @param program  path of its module from that of `caller`, without an ending
 * @param caller  `import.meta.url` of the module that starts it: from source it starts source, built it starts what is built
 * @param args  of the program
 * @param flags  of Node
 */
export function nodeCommand(
  program: string,
  caller: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): readonly [file: string, ...args: string[]] {
  const isBuilt = caller.endsWith('.js');
  const entry = fileURLToPath(new URL(`${program}.${isBuilt ? 'js' : 'ts'}`, caller));
  return [process.execPath, ...flags, ...(isBuilt ? [] : sourceFlags), entry, ...args];
}
