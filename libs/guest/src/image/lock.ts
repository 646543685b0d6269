/** What an image is made of: the lock of its inputs, and the list of what goes in. Both stand in enclave/guest. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { lockTextMax } from './limits.js';

const flavours = ['cpu', 'dev', 'gpu'] as const;
export type Flavour = (typeof flavours)[number];

const word = z.string().regex(/^[\x21-\x7e]{1,200}$/);
/** Names a file of the cache together with the name: no slash. */
const version = z.string().regex(/^[\w.+~:-]{1,100}$/);
const npmName = z.string().regex(/^(?:@[\w.-]{1,100}\/)?\w[\w.-]{0,100}$/);
/** Relative, without `..`. */
const path = z.string().regex(/^(?!\/)(?!(?:.*\/)?\.\.?(?:\/|$))[\x21-\x7e]{1,300}$/);
const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
const integrity = z.string().regex(/^sha512-[A-Za-z0-9+/]{86}==$/);

/** A list in which no two have the same key: of two, the reader would take one. */
const unique = <T>(item: z.ZodType<T>, most: number, key: (one: T) => string): z.ZodType<T[]> =>
  z
    .array(item)
    .max(most)
    .refine((all) => new Set(all.map(key)).size === all.length, { error: 'each once' });

const debianInput = z.strictObject({
  name: word,
  version,
  suite: word,
  architecture: z.enum(['amd64', 'all']),
  file: path,
  bytes: z.int().positive(),
  sha256: hex32,
});
const lockShape = z.strictObject({
  version: z.literal(1),
  debian: unique(debianInput, 100, ({ name }) => name),
  npm: unique(z.strictObject({ name: npmName, version, integrity }), 10, ({ name }) => name),
  kernel: z.strictObject({ package: word, member: path }),
  firmware: z.strictObject({ name: z.string().max(80), package: word, member: path, sha256: hex32 }),
  open: z.array(z.strictObject({ name: z.string().max(200), flavour: z.literal('gpu') })).max(20),
});
const systemFiles = unique(
  z.strictObject({ package: word, member: path, path, mode: z.literal('program').optional() }),
  200,
  (file) => file.path,
);
const imageShape = z.strictObject({
  version: z.literal(1),
  system: systemFiles,
  program: z.array(path).min(1).max(10),
  loaded: z.array(z.strictObject({ package: path, files: z.array(path).max(20) })).max(20),
  absent: z.array(word).max(20),
  flavours: z.record(
    z.enum(flavours),
    z.strictObject({
      without: z.array(path).max(20),
      packages: z.array(path).max(200),
      files: z.array(z.strictObject({ source: path, path })).max(20),
      /** Besides those of every flavour. */
      system: z.optional(systemFiles),
      /** On a disk that the command line pins, mounted where the file `etc/root` says. */
      root: z.optional(systemFiles),
    }),
  ),
});

export type DebianInput = z.infer<typeof debianInput>;
export type GuestLock = z.infer<typeof lockShape>;
export type ImageList = z.infer<typeof imageShape>;

/** The folder of package.json above this module, in the sources as in dist. */
export const repository = ((): string => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
})();
export const guestFolder = join(repository, 'enclave/guest');

/** @throws ConfigurationError GUEST_LOCK */
export function readLock(folder = guestFolder): GuestLock {
  return read(lockShape, join(folder, 'guest.lock.json'));
}

/** @throws ConfigurationError GUEST_LOCK */
export function readImageList(folder = guestFolder): ImageList {
  return read(imageShape, join(folder, 'image.json'));
}

export interface PackageInput {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

const packageEntry = z.object({ version, integrity });

/** Packages of the program as package-lock.json has them, by their folders. @throws ConfigurationError GUEST_LOCK */
export function packageInputs(folders: readonly string[], root = repository): ReadonlyMap<string, PackageInput> {
  const file = join(root, 'package-lock.json');
  const { packages } = read(z.object({ packages: z.record(z.string(), z.unknown()) }), file);
  return new Map(
    folders.map((folder) => {
      const entry = packageEntry.safeParse(packages[folder]);
      if (!entry.success) throw refused(file, `${folder} with version and SHA-512`, 'none');
      return [folder, { name: folder.replace(/^.*node_modules\//, ''), ...entry.data }] as const;
    }),
  );
}

function read<T>(shape: z.ZodType<T>, file: string): T {
  let json: unknown;
  try {
    if (statSync(file).size > lockTextMax) throw refused(file, `at most ${lockTextMax} bytes`, 'more');
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw refused(file, 'a file of JSON', (error as NodeJS.ErrnoException).code ?? 'something else');
  }
  const parsed = shape.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refused(file, 'what enclave/guest/README.md says', `${issue?.path.join('.')}: ${issue?.message}`);
}

function refused(file: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_LOCK', {
    ...{ expected: `${file}: ${expected}`, got, rule: 'enclave/guest/README.md, inputs' },
    action: 'take the file of the tag that you build',
  });
}
