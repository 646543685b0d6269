/** Manifests of a made image: every launch measured and signed for, and what is refused. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { signGuestManifest, verifyIdBlock } from '#attestation';
import { ed25519Signer, fromBase64 } from '#attestation/base';
import * as ed25519 from '@noble/ed25519';
import { readImage } from '#libs/guest';
import { madeFirmware } from '#test/made-firmware';
import { differencesOf, manifestOf, verifyManifestFile } from './manifest.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-manifest-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function put(file: string, bytes: Uint8Array): { file: string; sha256: string; bytes: number } {
  writeFileSync(join(folder, file), bytes);
  return { file, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
}

function image(change: { readonly initrd?: string; readonly text?: string } = {}): string {
  const text = change.text ?? 'quiet rdinit=/init';
  const described = {
    flavour: 'cpu',
    kernel: put('vmlinuz', Buffer.from('kernel')),
    initrd: put('initrd.img', Buffer.from(change.initrd ?? 'initrd')),
    cmdline: { ...put('cmdline', Buffer.from(text)), text },
    files: { ...put('files.txt', Buffer.from('list')), count: 1 },
    sbom: put('sbom.json', Buffer.from('{}')),
    firmware: { ...put('firmware.fd', madeFirmware()), name: 'made here' },
    lockSha256: '0'.repeat(64),
    inputs: [],
  };
  writeFileSync(join(folder, 'image.json'), JSON.stringify(described));
  return folder;
}

const request = { tag: 'v1', commit: '0'.repeat(40), svn: 3 };
const p384 = (name: string): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  writeFileSync(join(folder, name), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return join(folder, name);
};

describe('a manifest', () => {
  it('states a launch for each CPU model and count, all of them different from those of another image', async () => {
    const first = await manifestOf(image(), request);
    const measured = new Set(first.launch.map(({ measurement }) => measurement));
    expect([first.launch.length, measured.size]).toEqual([21, 21]);
    for (const change of [{ initrd: 'initre' }, { text: 'quiet rdinit=/inis' }]) {
      const other = await manifestOf(image(change), request);
      expect(other.launch.filter(({ measurement }) => measured.has(measurement))).toEqual([]);
    }
  });

  it('states one processor for each CPU model where the kernel takes no ACPI tables', async () => {
    const { launch } = await manifestOf(image({ text: 'quiet rdinit=/init acpi=off' }), request);
    expect(launch.map(({ vcpus }) => vcpus)).toEqual([1, 1, 1]);
  });

  it('has an ID block for each launch where there is a key, which says the measurement and the version', async () => {
    const keys = { idKey: p384('id-key.pem'), authorKey: p384('author-key.pem') };
    const { launch, idKeyDigest, authorKeyDigest } = await manifestOf(image(), { ...request, ...keys });
    const { idBlock, idAuth, measurement } = launch[4]!;
    expect(await verifyIdBlock(fromBase64(idBlock!), fromBase64(idAuth!))).toMatchObject({
      ...{ measurement, guestSvn: 3, policy: 0x130000n, idKeyDigest, authorKeyDigest },
    });
  });

  it('GUEST_FIRMWARE: with firmware that is on no list of those that enforce hashes it is made, and not verified', async () => {
    const secret = new Uint8Array(32).fill(7);
    const publicKey = await ed25519.getPublicKeyAsync(secret);
    const manifest = await manifestOf(image(), request);
    expect(manifest.firmware.enforcesHashes).toBe(false);
    const file = join(folder, 'manifest.cose');
    writeFileSync(file, await signGuestManifest(manifest, publicKey, ed25519Signer(secret)));
    const asked = { publicKey, firmware: join(folder, 'firmware.fd'), sources: { cache: folder } };
    await expect(verifyManifestFile(file, asked)).rejects.toMatchObject({ code: 'GUEST_FIRMWARE' });
    const stranger = await ed25519.getPublicKeyAsync(new Uint8Array(32).fill(8));
    await expect(verifyManifestFile(file, { ...asked, publicKey: stranger })).rejects.toThrow(/COSE_/);
    await expect(verifyManifestFile('README.md', asked)).rejects.toMatchObject({
      code: 'CBOR_MALFORMED',
      detail: { got: expect.stringContaining('README.md: not a signed manifest') as string },
    });
    await expect(verifyManifestFile(file, { publicKey, sources: { cache: folder } })).rejects.toMatchObject({
      code: 'GUEST_FIRMWARE_FILE',
    });
    await expect(verifyManifestFile(file, { ...asked, rebuild: true })).rejects.toMatchObject({ code: 'GUEST_COMMIT' });
  });

  it('differs from a build by name', async () => {
    const manifest = await manifestOf(image(), request);
    expect(differencesOf(manifest, readImage(image()))).toEqual([]);
    expect(differencesOf(manifest, readImage(image({ initrd: 'other' })))).toEqual(['initrd']);
  });

  it('GUEST_IMAGE, GUEST_ID_KEY_FILE: a file that is another than the image says, and a key of another kind', async () => {
    image();
    writeFileSync(join(folder, 'initrd.img'), 'inxtrd');
    await expect(manifestOf(folder, request)).rejects.toMatchObject({ code: 'GUEST_IMAGE' });
    const file = join(folder, 'ed25519.pem');
    writeFileSync(file, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(manifestOf(image(), { ...request, idKey: file })).rejects.toMatchObject({ code: 'GUEST_ID_KEY_FILE' });
  });
});
