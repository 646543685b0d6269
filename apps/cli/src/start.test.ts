import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nodeCommand } from '#libs/process';
import { createProgram } from './program.js';

/** Packages and parts of the project that take long to load. */
const heavy =
  /\/(?:node_modules\/(onnxruntime-node|@nestjs|@peculiar|ethers|typeorm|zod)|(libs\/\w+\/src\/index|attestation\/src\/index))[/.]/;

/** What of it a process of the command loads, as Node's record of coverage has it. */
function loadedBy(...args: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-start-'));
  try {
    const [node, ...rest] = nodeCommand('./main', import.meta.url, args);
    const { status } = spawnSync(node, rest, { env: { ...process.env, NODE_V8_COVERAGE: folder } });
    expect(status).toBe(0);
    const records = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage);
    const urls = records.flatMap(({ result }) => result.map(({ url }) => url));
    expect(urls.filter((url) => /\/apps\/cli\/src\/main\./.test(url))).toHaveLength(1);
    const found = urls.map((url) => heavy.exec(url)).filter((match) => match !== null);
    return [...new Set(found.map(([, name, part]) => (name ?? part)!))].sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

it.each(['--help', '--version'])('%s loads nothing that is heavy', (word) => {
  expect(loadedBy(word)).toEqual([]);
});

it.each(['job', 'node', 'model', 'contracts', 'dataset', 'host', 'log', 'prove', 'up'])(
  '%s, whose help needs no chain, loads none',
  (group) => {
    expect(loadedBy(group, '--help')).not.toEqual(expect.arrayContaining(['ethers']));
  },
);

it('a command loads what it is made with', () => {
  expect(loadedBy('demo', '--help')).toEqual(expect.arrayContaining(['ethers', 'libs/settlement/src/index']));
});

it('help of the program is the same whichever commands are loaded', async () => {
  const help = (await createProgram()).helpInformation();
  expect((await createProgram([])).helpInformation()).toBe(help);
  expect(help).toContain('train [options]');
});
