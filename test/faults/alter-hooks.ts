/**
 * Module hooks that change one place of a built module before it runs: for what no prototype leads to. A place that is not
 * there ends the process, so that nothing counts as planted that is not.
 * @source nodejs.org, module: customization hooks
 */
import type { InitializeHook, LoadHook } from 'node:module';

export interface Alteration {
  /** How the module's URL ends. */
  readonly file: string;
  readonly from: RegExp;
  readonly to: string;
}

let alterations: readonly Alteration[] = [];

export const initialize: InitializeHook<readonly Alteration[]> = (data) => void (alterations = data);

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const alteration = alterations.find(({ file }) => url.endsWith(file));
  if (alteration === undefined) return loaded;
  const text = Buffer.from(loaded.source as Uint8Array).toString('utf8');
  const source = text.replace(alteration.from, () => alteration.to);
  if (source === text) throw new Error(`nothing to alter in ${url}: ${String(alteration.from)}`);
  return { ...loaded, source };
};
