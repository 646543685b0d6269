/** A guest's image that is made here, with the manifest of its launches: it starts nothing, and its keys are of tests. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import {
  enforcingFirmware,
  firmwareLaunch,
  launchKeyDigest,
  makeIdBlock,
  measurementOf,
  signGuestManifest,
  type GuestManifest,
  type LaunchKey,
} from '#attestation';
import { concatBytes, toBase64, toHex, utf8 } from '#attestation/base';
import type { BuiltGuest } from '#libs/guest';
import { madeFirmware } from './made-firmware.js';

interface Builder {
  readonly publicKey: Uint8Array;
  sign(manifest: GuestManifest): Promise<Uint8Array>;
}

export interface MadeGuest {
  readonly firmware: Uint8Array;
  readonly manifest: GuestManifest;
  /** Two that publish the same. */
  readonly builders: readonly [Builder, Builder];
}

const policy = 0x130000n;
const sha = (text: string): string => toHex(sha256(utf8(text)));
const madeKernel = 'kernel of a test';
const madeInitrd = 'initrd of a test';
const madeCommandLine = 'console=ttyS0 rdinit=/init';

export async function madeGuest(change: Partial<GuestManifest> = {}): Promise<MadeGuest> {
  const firmware = madeFirmware();
  const [idKey, authorKey] = [testLaunchKey(), testLaunchKey()];
  const files: GuestManifest['files'] = {
    kernel: { sha256: sha(madeKernel), bytes: madeKernel.length },
    initrd: { sha256: sha(madeInitrd), bytes: madeInitrd.length },
    cmdline: madeCommandLine,
  };
  const launch = [];
  for (const vcpus of [1, 4]) {
    const shape = { vcpus, cpu: 'EPYC-Milan', features: '0x1' };
    const measurement = measurementOf({ files }, firmware, shape);
    const ids = { familyId: '11'.repeat(16), imageId: '22'.repeat(16), guestSvn: 7, policy };
    const { block, auth } = await makeIdBlock({ measurement, ...ids }, idKey, authorKey);
    const pages = { idBlock: toBase64(block), idAuth: toBase64(auth) };
    launch.push({ vmm: 'QEMU', qemu: '>=10.0', ...shape, policy: '0x130000', measurement, ...pages } as const);
  }
  const manifest: GuestManifest = {
    ...{ version: 1, name: 'veritrain-guest', flavour: 'cpu', tag: 'v0.0.0-test', commit: '0'.repeat(40) },
    ...{ lockSha256: sha('lock'), inputs: [], files, listSha256: sha('list'), sbomSha256: sha('sbom'), guestSvn: 7 },
    firmware: { name: 'made for a test', sha256: toHex(sha256(firmware)), enforcesHashes: true },
    ...{ idKeyDigest: launchKeyDigest(idKey.point), authorKeyDigest: launchKeyDigest(authorKey.point), launch },
    ...change,
  };
  return { firmware, manifest, builders: [builder(), builder()] };
}

/** What a folder of a built image holds. */
export function writeMadeGuest(folder: string, { firmware, manifest }: MadeGuest): void {
  mkdirSync(folder, { recursive: true });
  const files = { 'OVMF.fd': firmware, vmlinuz: madeKernel, 'initrd.img': madeInitrd, cmdline: manifest.files.cmdline };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}

/** The same as `guest build` leaves it, with its description. */
export function writeBuiltGuest(folder: string, { firmware, manifest }: MadeGuest): BuiltGuest {
  mkdirSync(folder, { recursive: true });
  const put = <Name extends string>(file: Name, content: string | Uint8Array) => {
    const bytes = typeof content === 'string' ? utf8(content) : content;
    writeFileSync(join(folder, file), bytes);
    return { file, sha256: toHex(sha256(bytes)), bytes: bytes.length };
  };
  const text = manifest.files.cmdline;
  const built: BuiltGuest = {
    ...{ flavour: 'cpu', kernel: put('vmlinuz', madeKernel), initrd: put('initrd.img', madeInitrd) },
    ...{ cmdline: { ...put('cmdline', text), text }, files: { ...put('files.txt', 'list'), count: 1 } },
    ...{ sbom: put('sbom.json', '{}'), firmware: { ...put('firmware.fd', firmware), name: 'made for a test' } },
    ...{ lockSha256: sha('lock'), inputs: [] },
  };
  writeFileSync(join(folder, 'image.json'), JSON.stringify(built));
  return built;
}

/** As `guest build` leaves a folder. */
export function writeMadeImage(folder: string, guest: MadeGuest): void {
  writeMadeGuest(folder, guest);
  copyFileSync(join(folder, 'OVMF.fd'), join(folder, 'firmware.fd'));
  writeFileSync(join(folder, 'files.txt'), 'list');
  writeFileSync(join(folder, 'sbom.json'), 'sbom');
  describeMadeImage(folder, guest);
}

/** Writes image.json for the files that are there. */
export function describeMadeImage(folder: string, { manifest }: MadeGuest): void {
  const part = (file: string) => {
    const bytes = readFileSync(join(folder, file));
    return { file, sha256: toHex(sha256(bytes)), bytes: bytes.length };
  };
  const image = {
    ...{ flavour: 'cpu', kernel: part('vmlinuz'), initrd: part('initrd.img'), inputs: [] },
    ...{ cmdline: { ...part('cmdline'), text: manifest.files.cmdline }, files: { ...part('files.txt'), count: 1 } },
    ...{ sbom: part('sbom.json'), firmware: { ...part('firmware.fd'), name: 'made for a test' } },
    lockSha256: manifest.lockSha256,
  };
  writeFileSync(join(folder, 'image.json'), JSON.stringify(image));
}

/** Runs with this firmware on the list of those that enforce hashes. */
export async function withListed(firmware: Uint8Array, act: () => Promise<unknown>): Promise<void> {
  const listed = enforcingFirmware as unknown as (typeof enforcingFirmware)[number][];
  listed.push({
    ...{ name: 'made for a test', sha256: toHex(sha256(firmware)), seen: '2026-11-24' },
    launch: firmwareLaunch(firmware),
  });
  try {
    await act();
  } finally {
    listed.pop();
  }
}

function builder(): Builder {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url'));
  return {
    publicKey: raw,
    sign: (manifest) => signGuestManifest(manifest, raw, (message) => new Uint8Array(sign(null, message, privateKey))),
  };
}

function testLaunchKey(): LaunchKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const { x, y } = privateKey.export({ format: 'jwk' });
  const key = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return {
    point: concatBytes(Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')),
    sign: (message) => sign('sha384', message, { key, dsaEncoding: 'ieee-p1363' }),
  };
}
