/** The files of the console as the build left them: read once, so that no path of a request ever reaches the disk. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../core/config/config.js';
import { CONFIG } from '../../core/config/tokens.js';

interface ServedFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8" /><title>Veritrain console</title></head>
<body><main><h1>The console was not built</h1>
<p>Run <code>npm run build</code> and start the control plane again. The API answers all the same.</p></main></body></html>
`;

@Injectable()
export class ConsoleFiles {
  /** The shell of every page; who asks is told apart by its script. */
  readonly page: Buffer;
  readonly #assets = new Map<string, ServedFile>();
  readonly reviewer: Buffer | null;

  constructor(@Inject(CONFIG) { consoleDirectory }: Config) {
    const served = join(consoleDirectory, 'served');
    const page = join(served, 'console.html');
    this.page = existsSync(page) ? readFileSync(page) : Buffer.from(notBuilt);
    const assets = join(served, 'assets');
    for (const name of existsSync(assets) ? readdirSync(assets) : []) {
      const type = types[extname(name)];
      if (type !== undefined) this.#assets.set(name, { type, bytes: readFileSync(join(assets, name)) });
    }
    const reviewer = join(consoleDirectory, 'reviewer.html');
    this.reviewer = existsSync(reviewer) ? readFileSync(reviewer) : null;
  }

  asset(name: string): ServedFile | undefined {
    return this.#assets.get(name);
  }
}
