/** A disk without space for a training is found out before anything is trained. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, type Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { parameterBytes } from '#libs/step';
import { smallNet } from '#test/net-agreement';
import { needTrainingSpace } from './free-space.js';

/** Free bytes of the disk that everything is on, and of one that a folder may be. */
const free = vi.hoisted(() => ({ bytes: 0, elsewhere: 0 }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const isElsewhere = (path: string): boolean => path.endsWith('elsewhere');
  return {
    ...fs,
    statSync: (path: string, options?: { throwIfNoEntry: false }): Stats | undefined =>
      isElsewhere(path) ? Object.assign(fs.statSync(path), { dev: -1 }) : fs.statSync(path, options),
    statfsSync: (path: string) => ({ bavail: isElsewhere(path) ? free.elsewhere : free.bytes, bsize: 1 }),
  };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-space-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const lr = { frac: 24, points: [[0, 16_777]] };
const m = smallNet([{ op: 'dense', out: 3 }], { optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr } });
const [model, state] = [parameterBytes(m), 3 * parameterBytes(m)];
const others = 2 ** 20;

function needs(disk: 'bytes' | 'elsewhere', bytes: number, ...where: [out: string, checkpoint?: string]): void {
  free[disk] = bytes;
  needTrainingSpace(m, ...where);
  free[disk] = bytes - 1;
  expect(() => needTrainingSpace(m, ...where)).toThrow(expect.objectContaining({ code: 'FILE_UNWRITABLE' }));
  free[disk] = bytes;
}

it('counts the weights and what stands beside them, the state of the engine, and a checkpoint', () => {
  needs('bytes', model + others + state, folder);
  needs('bytes', model + others + 2 * state, folder, join(folder, 'checkpoint'));
});

it('counts each disk for itself', () => {
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  free.bytes = Infinity;
  needs('elsewhere', model + others, elsewhere);
  needs('bytes', state, elsewhere);
  free.bytes = Infinity;
  needs('elsewhere', state, folder, join(elsewhere, 'checkpoint'));
});

it('counts no space of the model in whose place the new one comes, which stays until that is whole', () => {
  writeFileSync(join(folder, 'weights.bin'), new Uint8Array(model));
  needs('bytes', model + others + state, folder);
});
