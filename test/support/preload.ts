/** Modules that a process loads before its own: how tests reach into processes that know nothing of them. */
import { fileURLToPath } from 'node:url';

const isBuilt = import.meta.url.endsWith('.js');

/** @param modules  paths from this folder, without their extension */
export function preload(...modules: readonly string[]): { readonly NODE_OPTIONS: string } {
  const files = modules.map((name) => fileURLToPath(new URL(`${name}.${isBuilt ? 'js' : 'ts'}`, import.meta.url)));
  const loader = isBuilt ? [] : ['--conditions=source', '--import', '@oxc-node/core/register'];
  return { NODE_OPTIONS: [...loader, ...files.flatMap((file) => ['--import', file])].join(' ') };
}
