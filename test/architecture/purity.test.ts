/**
 * A verdict is a function of its arguments: no clock, network, randomness or process in what an outsider relies on.
 * The client library prints nothing and ends no process.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './tree.js';

const restrictedFolders = [
  'attestation',
  'libs/client',
  'libs/models',
  'libs/proof',
  'libs/review',
  'libs/step',
  'libs/zk',
];
const restricted = /no-restricted-(globals|properties)/;

/** Findings as `file: message`. */
function restrictedIn(folder: string): string[] {
  const tool = join(root, 'node_modules/oxlint/bin/oxlint');
  const { stdout, stderr } = spawnSync(process.execPath, [tool, '--format', 'unix', ...restrictedFolders], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!/\d+ problems?|^$/.test(stdout)) throw new Error(stdout + stderr);
  return stdout.split('\n').filter((line) => restricted.test(line));
}

it('holds over the verifier closure and the client library', () => {
  expect(restrictedIn(root)).toEqual([]);
});

const plants: readonly (readonly [file: string, text: string])[] = [
  ['attestation/src/date.ts', 'export const at = (): number => new Date().getTime();'],
  ['attestation/src/snp/now.ts', 'export const at = (): number => globalThis.Date.now();'],
  ['attestation/src/clock.ts', 'export const at = (): number => performance.now();'],
  ['attestation/src/network.ts', "export const get = (): unknown => fetch('https://example.org');"],
  ['attestation/src/process.ts', "export const setting = (): unknown => process.env['X'];"],
  ['attestation/src/buffer.ts', 'export const bytes = (): unknown => Buffer.alloc(1);'],
  ['attestation/src/console.ts', "export const say = (): void => console.log('x');"],
  ['libs/proof/src/clock.ts', 'export const at = (): number => Date.now();'],
  ['libs/step/src/random.ts', 'export const draw = (): number => Math.random();'],
  ['libs/step/src/timer.ts', 'export const wait = (): unknown => setTimeout(() => undefined, 1);'],
  ['libs/models/src/read.ts', "export const setting = (): unknown => process.env['X'];"],
  ['libs/client/src/say.ts', "export const say = (): void => console.log('x');"],
  ['libs/client/src/job/end.ts', 'export const end = (): void => process.exit(1);'],
  ['libs/client/src/write.ts', "export const say = (): boolean => process.stderr.write('x');"],
  ['libs/zk/src/verifier/draw.ts', 'export const draw = (): unknown => crypto.getRandomValues(new Uint8Array(1));'],
  ['libs/zk/src/commit/params.ts', 'export const at = (): number => Date.now();'],
];

/** Of no such folder, free there, or a test: not this rule's concern. */
const sound: readonly (readonly [file: string, text: string])[] = [
  ['libs/client/src/clock.ts', 'export const at = (): number => Date.now();'],
  ['libs/zk/src/commit/kernels/pool.ts', 'export const at = (): number => performance.now();'],
  ['attestation/src/x.test.ts', 'export const at = (): number => Date.now();'],
];

describe('planted violations', () => {
  const planted = mkdtempSync(join(tmpdir(), 'veritrain-purity-'));
  let found: string[] = [];

  beforeAll(() => {
    cpSync(join(root, '.oxlintrc.json'), join(planted, '.oxlintrc.json'));
    for (const [file, text] of [...plants, ...sound]) {
      mkdirSync(dirname(join(planted, file)), { recursive: true });
      writeFileSync(join(planted, file), `${text}\n`);
    }
    found = restrictedIn(planted);
  });
  afterAll(() => rmSync(planted, { recursive: true, force: true }));

  it.each(plants)('%s is named', (file) => {
    expect(found.filter((line) => line.startsWith(`${file}:`))).toHaveLength(1);
  });

  it('leaves what is sound alone', () => {
    expect(found.filter((line) => sound.some(([file]) => line.startsWith(`${file}:`)))).toEqual([]);
  });
});
