/** The reviewer with sources altered as a test says, in VERITRAIN_TEST_ALTER: planted faults, or the pins of made-up vendors. */
import { readFileSync } from 'node:fs';
import { defineConfig, mergeConfig, type Plugin } from 'vite';
import config from '../vite.config.js';

export interface Alteration {
  /** End of the source's path. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const alterations = JSON.parse(readFileSync(process.env['VERITRAIN_TEST_ALTER']!, 'utf8')) as readonly Alteration[];

function altered(): Plugin {
  const open = new Set(alterations);
  return {
    name: 'veritrain-test-alter',
    enforce: 'pre',
    transform(code, id) {
      const own = alterations.filter(({ file }) => id.endsWith(file));
      let changed = code;
      for (const one of own) {
        if (!changed.includes(one.from)) throw new Error(`${one.file} has no ${one.from}`);
        changed = changed.replace(one.from, () => one.to);
        open.delete(one);
      }
      return own.length === 0 ? undefined : { code: changed, map: null };
    },
    buildEnd() {
      if (open.size > 0) throw new Error(`nothing altered: ${[...open].map(({ file }) => file).join(', ')}`);
    },
  };
}

export default defineConfig(mergeConfig(config, { plugins: [altered()] }));
