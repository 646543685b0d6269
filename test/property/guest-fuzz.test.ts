/** What a guest, its builders and its checkers read from strangers ends in a code, or says what was meant. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGuestManifest, verifyGuestManifest, type GuestManifest } from '#attestation';
import { decodeCanonical } from '#attestation/base';
import type { BuiltGuest } from '#libs/guest';
import type { PackageInput } from '../../libs/guest/src/image/lock.js';
import { fuzzGuest, guestKinds, guestReaders, type GuestKind, type GuestReaders } from './guest-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants of each kind, VERITRAIN_SEED the seed. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 200);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_126);

describe(`${count} mutants of seed ${seed}`, () => {
  it.each(guestKinds)(
    'of %s end in a code, or say what was meant',
    async (kind) => {
      const report = await fuzzGuest(kind, count, seed);
      expect(report.failures.slice(0, 3)).toEqual([]);
      expect(report.refused).toBeGreaterThan(0.3 * count);
    },
    3_600_000,
  );
});

/** Readers with one check left out each: a suite that passes them shows nothing. */
const broken: readonly (readonly [GuestKind, string, Partial<GuestReaders>])[] = [
  ['frames', 'takes the length for granted', { frames: (bytes) => [decodeCanonical(bytes.subarray(4))] }],
  ['signed', 'shrugs at a signature', { signed: (bytes, key) => verifyGuestManifest(bytes, key).catch(() => none) }],
  ['manifest', 'measures nothing again', { manifest: (json) => Promise.resolve(readGuestManifest(json)) }],
  ['image', 'looks at no file', { image: (folder) => parsed(join(folder, 'image.json')) as BuiltGuest }],
  [
    'packages',
    'takes any digest',
    {
      packages: (folder) => {
        const { packages } = parsed(join(folder, 'package-lock.json')) as { packages: Record<string, PackageInput> };
        return Object.values(packages);
      },
    },
  ],
  ['recipe', 'takes any path', { recipe: (folder) => Object.keys(parsed(join(folder, 'image.json')) as object) }],
];
const none = {} as GuestManifest;
const parsed = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

it.each(broken)('of %s find a reader that %s', async (kind, _, readers) => {
  // Few mutants of a frame change its length alone.
  const report = await fuzzGuest(kind, kind === 'frames' ? 3000 : 200, seed, undefined, {
    ...guestReaders,
    ...readers,
  });
  expect(report.accepted + report.crashes).toBeGreaterThan(0);
});
