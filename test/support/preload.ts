/** Modules that a process loads before its own: how tests reach into processes that know nothing of them. */
import { programFile } from '#libs/process';

/** @param modules  paths from this folder, without their extension */
export function preload(...modules: readonly string[]): { readonly NODE_OPTIONS: string } {
  const files = modules.map((name) => programFile(name, import.meta.url));
  const loader = files[0]?.flags ?? [];
  return { NODE_OPTIONS: [...loader, ...files.flatMap(({ path }) => ['--import', path])].join(' ') };
}
