#!/usr/bin/env node
// The installed command: `npx veritrain …`. `npm run build` makes what it runs.
import { existsSync } from 'node:fs';

const main = new URL('../../../dist/apps/cli/src/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('veritrain: not built yet; run `npm run build` once.\n');
  process.exit(1);
}
await import(main.href);
