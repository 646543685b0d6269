/** A built image in its folder, held against its own description. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { archiveBytesMax, lockTextMax } from './limits.js';
import { rootOf } from './root.js';

/** Each part has its file: a description that names one as another would have another started. */
const part = <Name extends string>(file: Name) =>
  z.object({
    file: z.literal(file),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: z.int().positive(),
  });
const shape = z.object({
  flavour: z.enum(['cpu', 'dev', 'gpu']),
  kernel: part('vmlinuz'),
  initrd: part('initrd.img'),
  cmdline: part('cmdline').extend({ text: z.string().regex(/^[\x20-\x7e]{1,2047}$/) }),
  files: part('files.txt').extend({ count: z.int().positive() }),
  sbom: part('sbom.json'),
  root: z.optional(part('root.img')),
  firmware: part('firmware.fd').extend({ name: z.string().max(80) }),
  lockSha256: z.string().regex(/^[0-9a-f]{64}$/),
  inputs: z.array(z.object({ name: z.string(), version: z.string(), digest: z.string() })).max(500),
});

/** What `guest build` says, in its folder as image.json. */
export type BuiltGuest = z.infer<typeof shape>;

/** @throws ConfigurationError GUEST_IMAGE: no image, or a file of it is another than its description says */
export function readImage(folder: string): BuiltGuest {
  const image = describedIn(folder);
  const { kernel, initrd, firmware, root } = image;
  for (const { file, sha256, bytes } of [kernel, initrd, image.cmdline, firmware, ...(root ? [root] : [])]) {
    const path = join(folder, file);
    const size = existsSync(path) ? statSync(path).size : -1;
    if (size !== bytes || size > archiveBytesMax)
      throw refused(`${path} of ${bytes} bytes`, size < 0 ? 'no file' : `${size}`);
    const found = createHash('sha256').update(readFileSync(path)).digest('hex');
    if (found !== sha256) throw refused(`${path} with SHA-256 ${sha256}`, found);
  }
  const { cmdline } = image;
  const said = createHash('sha256').update(cmdline.text).digest('hex');
  if (said !== cmdline.sha256) throw refused(`the text of ${cmdline.file} in the description`, cmdline.text);
  if ((root === undefined) !== (rootOf(cmdline.text) === undefined))
    throw refused('a root.img where the command line pins one, and there alone', root?.file ?? 'none');
  return image;
}

function describedIn(folder: string): BuiltGuest {
  const file = join(folder, 'image.json');
  try {
    if (statSync(file).size > lockTextMax) throw refused(`${file} of at most ${lockTextMax} bytes`, 'more');
    return shape.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw refused(`${file} as guest build writes it`, error instanceof z.ZodError ? error.issues[0]!.message : 'none');
  }
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_IMAGE', {
    ...{ expected, got, rule: 'enclave/guest/README.md, image' },
    action: 'veritrain guest build --flavour dev --out FOLDER',
  });
}
