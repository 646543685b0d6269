/**
 * What an image is without the application: kernel, firmware, and every file outside app/ by path. Stands in
 * enclave/guest/expected.json, so that a change of enclave/guest alone changes it, in sight of a reviewer. What lies in app/ is
 * named by image.json, package by package.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import type { ImageContents } from './contents.js';
import { cpioArchive, withFolders, type ImageEntry } from './cpio.js';
import { lockTextMax } from './limits.js';
import { guestFolder, type Flavour } from './lock.js';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const baseShape = z.strictObject({
  /** SHA-256 of the archive of all files outside `app/`. */
  archive: digest,
  kernel: digest,
  firmware: digest,
  /** Mode and path of each of those files; folders are not named. */
  files: z.array(z.string().max(300)).max(5000),
});
const shape = z.strictObject({
  version: z.literal(1),
  flavours: z.strictObject({ cpu: baseShape, dev: baseShape }),
});

type ImageBase = z.infer<typeof baseShape>;
type Expected = z.infer<typeof shape>;
type BuiltFlavour = keyof Expected['flavours'];

const folderBits = 0o040000;
const application = 'app/';

export function baseOf({ kernel, firmware, entries }: ImageContents): ImageBase {
  const kept = withFolders(entries.filter(({ path }) => !path.startsWith(application)));
  return {
    archive: sha256(cpioArchive(kept)),
    kernel: sha256([kernel]),
    firmware: sha256([firmware]),
    files: kept.filter(isFile).map(({ mode, path }) => `${mode.toString(8)} ${path}`),
  };
}

/**
 * A flavour that is never built has no base, and none is expected of it.
 *
 * @throws ConfigurationError GUEST_EXPECTED: the image has another base than enclave/guest/expected.json says
 */
export function checkBase(flavour: Flavour, base: ImageBase, folder = guestFolder): void {
  if (flavour === 'gpu') return;
  const expected = readExpected(folder).flavours[flavour];
  const more = base.files.find((file) => !expected.files.includes(file));
  if (more !== undefined) throw refused(flavour, 'no file beside those named', more);
  const less = expected.files.find((file) => !base.files.includes(file));
  if (less !== undefined) throw refused(flavour, less, 'no such file');
  for (const name of ['kernel', 'firmware', 'archive'] as const)
    if (base[name] !== expected[name]) throw refused(flavour, `${name} ${expected[name]}`, base[name]);
}

/** @returns whether the file is another than before */
export function writeExpected(flavours: Readonly<Record<BuiltFlavour, ImageBase>>, folder = guestFolder): boolean {
  const path = join(folder, 'expected.json');
  const text = `${JSON.stringify({ version: 1, flavours } satisfies Expected, null, 2)}\n`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return false;
  writeFileSync(path, text);
  return true;
}

function readExpected(folder: string): Expected {
  const path = join(folder, 'expected.json');
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  try {
    if (size > 0 && size <= lockTextMax) return shape.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // Said below, with what to do.
  }
  throw new ConfigurationError('GUEST_LOCK', {
    ...{ expected: `${path}, as guest lock --update writes it`, got: size === 0 ? 'none' : `${size} bytes` },
    ...{ rule: 'enclave/guest/README.md, inputs', action: 'take the file of the tag that you build' },
  });
}

function isFile({ mode }: ImageEntry): boolean {
  return (mode & folderBits) === 0;
}

function sha256(parts: readonly Uint8Array[]): string {
  return parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
}

function refused(flavour: Flavour, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_EXPECTED', {
    expected: `the flavour ${flavour} as enclave/guest/expected.json has it: ${expected}`,
    got,
    rule: 'enclave/guest/README.md, inputs',
    action:
      'build from an unchanged tag; after a change of enclave/guest or a lock: guest lock --update, and commit it',
  });
}
