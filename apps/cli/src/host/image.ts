/** The files of a guest's image on this host, held against its manifest. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { GuestManifest } from '#attestation';
import { ConfigurationError, Rejection } from '#attestation/base';
import { readBytes } from '#libs/client/files';

export interface ImageDigests {
  /** SHA-256, hexadecimal. */
  readonly kernel: string;
  readonly initrd: string;
  readonly cmdline: string;
}

const cmdlineMost = 4096;

/** @throws ConfigurationError FILE_UNREADABLE */
export async function digestsOf(folder: string): Promise<ImageDigests> {
  const cmdline = new TextDecoder().decode(readBytes(join(folder, 'cmdline'), cmdlineMost));
  const [kernel, initrd] = [await fileDigest(join(folder, 'vmlinuz')), await fileDigest(join(folder, 'initrd.img'))];
  return { kernel, initrd, cmdline };
}

/** @throws Rejection GUEST_IMAGE naming the first file that is another */
export function checkImage(found: ImageDigests, { files }: Pick<GuestManifest, 'files'>): void {
  const pairs = [
    ['vmlinuz', files.kernel.sha256, found.kernel],
    ['initrd.img', files.initrd.sha256, found.initrd],
    ['cmdline', files.cmdline, found.cmdline],
  ] as const;
  const wrong = pairs.find(([, expected, got]) => expected !== got);
  if (wrong === undefined) return;
  const [name, expected, got] = wrong;
  throw new Rejection('GUEST_IMAGE', {
    ...{ expected: `${name}: ${expected}`, got: got.slice(0, 200), rule: 'measurement manifest of the guest' },
    action: 'fetch the image again, or build it: this file would be measured as another launch',
  });
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    throw new ConfigurationError('FILE_UNREADABLE', {
      ...{ expected: `a readable file at ${path}`, got: (error as NodeJS.ErrnoException).code ?? 'an error' },
      rule: 'image of the guest',
      action: 'build or fetch the image: it is a folder with vmlinuz, initrd.img and cmdline',
    });
  }
  return hash.digest('hex');
}
