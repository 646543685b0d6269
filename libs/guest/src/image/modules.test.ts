/** What an image can drive: nothing that takes randomness or frames of a network from its host. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { guestFolder, readImageList } from './lock.js';

const evidence = ['configfs.ko', 'tsm.ko', 'sev-guest.ko'];
const disk = [
  'virtio_blk.ko',
  'reed_solomon.ko',
  'dm-mod.ko',
  'dm-bufio.ko',
  'dm-verity.ko',
  'libcrc32c.ko',
  'erofs.ko',
];
/** What the driver of a GPU asks the kernel for in confidential mode, each after what it needs. */
const driverCrypto = ['crypto_null.ko', 'gcm.ko', 'gf128mul.ko', 'ghash-generic.ko', 'ecdh_generic.ko'];

it.each([
  ['cpu', evidence],
  ['dev', evidence],
  ['gpu', [...evidence, ...disk, ...driverCrypto]],
])('%s loads the modules of evidence, and of its measured disk and GPU where it has them', (flavour, expected) => {
  const loaded = readFileSync(join(guestFolder, `modules.${flavour}`), 'utf8')
    .trim()
    .split('\n');
  expect(loaded.map((path) => basename(path))).toEqual(expected);
});

it('has no other module at hand', () => {
  const text = JSON.stringify(readImageList());
  const carried = [...text.matchAll(/"path":"lib\/modules\/([^"]+)"/g)].map(([, name]) => name!);
  expect([...new Set(carried)].toSorted()).toEqual([...evidence, ...disk, ...driverCrypto].toSorted());
});

it('is told of no randomness of its host on the command line', () => {
  for (const flavour of ['cpu', 'dev', 'gpu'])
    expect(readFileSync(join(guestFolder, `cmdline.${flavour}`), 'utf8')).not.toMatch(/random|rng/i);
});
