/** The manifest's measurements against a second implementation, with firmware that is made here; and its forgers. */
import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashTable, madeFirmware, resetEip } from '#test/made-firmware';
import { concatBytes, toBase64, toHex } from '../base/bytes.js';
import { launchKeyDigest, makeIdBlock, verifyIdBlock, type LaunchKey } from '../snp/id-block.js';
import { enforcingFirmware } from './firmware.js';
import { launchDigest } from './launch-digest.js';
import {
  measurementOf,
  readGuestManifest,
  signGuestManifest,
  verifyGuestManifest,
  verifyLaunches,
  type GuestManifest,
} from './manifest.js';
import { guidBytes } from './ovmf.js';
import { cpuSignature } from './vmsa.js';

const sha = (name: 'sha256' | 'sha384', ...parts: Uint8Array[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash(name)).digest();
const le = (value: bigint | number, bytes: number): Buffer => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out.subarray(0, bytes);
};

/** From AMD 56860 §8.17 and QEMU's target/i386: none of the code under test. */
function secondImplementation(
  files: GuestManifest['files'],
  image: Buffer,
  shape: { vcpus: number; signature: number; features: number },
): string {
  let digest: Buffer = Buffer.alloc(48);
  const page = (type: number, gpa: number, contents: Uint8Array): void =>
    void (digest = sha('sha384', digest, contents, le(0x70, 2), Buffer.from([type, 0, 0, 0, 0, 0]), le(gpa, 8)));
  for (let at = 0; at < image.length; at += 4096)
    page(1, 2 ** 32 - image.length + at, sha('sha384', image.subarray(at, at + 4096)));
  page(5, 0x809000, Buffer.alloc(48));
  page(6, 0x80b000, Buffer.alloc(48));
  const entry = (guid: string, hash: Buffer): Buffer => Buffer.concat([guidBytes(guid), le(50, 2), hash]);
  const table = Buffer.concat([
    guidBytes('9438d606-4f22-4cc9-b479-a793d411fd21'),
    le(168, 2),
    entry('97d02dd8-bd20-4c94-aa78-e7714d36ab2a', sha('sha256', Buffer.from(`${files.cmdline}\0`))),
    entry('44baf731-3a2f-4bd7-9af1-41e29169781d', Buffer.from(files.initrd.sha256, 'hex')),
    entry('4de79437-abd2-427f-b835-d5b172d2045b', Buffer.from(files.kernel.sha256, 'hex')),
  ]);
  const hashes = Buffer.alloc(4096);
  table.copy(hashes, hashTable.at % 4096);
  page(1, hashTable.gpa, sha('sha384', hashes));
  for (let cpu = 0; cpu < shape.vcpus; cpu++)
    page(2, 0xfffffffff000, sha('sha384', vmsa(cpu === 0 ? 0xfffffff0 : resetEip, shape)));
  return digest.toString('hex');
}

function vmsa(eip: number, { signature, features }: { signature: number; features: number }): Buffer {
  const save = Buffer.alloc(4096);
  const segments = [
    [0, 0, 0x93],
    [0x10, 0xf000, 0x9b, (eip & 0xffff0000) >>> 0],
    [0x20, 0, 0x93],
    [0x30, 0, 0x93],
    [0x40, 0, 0x93],
    [0x50, 0, 0x93],
    [0x60, 0, 0],
    [0x70, 0, 0x82],
    [0x80, 0, 0],
    [0x90, 0, 0x8b],
  ] as const;
  for (const [at, selector, attributes, base = 0] of segments)
    Buffer.concat([le(selector, 2), le(attributes, 2), le(0xffff, 4), le(base, 8)]).copy(save, at);
  const words = [
    [0xd0, 0x1000],
    [0x148, 0x40],
    [0x158, 0x10],
    [0x160, 0x400],
    [0x168, 0xffff0ff0],
    [0x170, 2],
    [0x178, eip & 0xffff],
    [0x310, signature],
    [0x3b0, features],
    [0x3e8, 1],
    [0x268, 0x7040600070406n],
  ] as const;
  for (const [at, value] of words) le(value, 8).copy(save, at);
  le(0x1f80, 4).copy(save, 0x408);
  le(0x37f, 2).copy(save, 0x410);
  return save;
}

const image = Buffer.from(madeFirmware());
const bytes = new Uint8Array(image);
const hash = (text: string): string => sha('sha256', Buffer.from(text)).toString('hex');
const files: GuestManifest['files'] = {
  kernel: { sha256: hash('kernel'), bytes: 6 },
  initrd: { sha256: hash('initrd'), bytes: 6 },
  cmdline: 'console=ttyS0 rdinit=/init',
};
const shape = { vcpus: 4, cpu: 'EPYC-Milan', features: '0x1' };
const signatures = { 'EPYC-Rome': 0x830f10, 'EPYC-Milan': 0xa00f11, 'EPYC-Genoa': 0xa10f10 };

describe('a measurement', () => {
  it('is that of a second implementation for every model and count of processors', () => {
    for (const [cpu, signature] of Object.entries(signatures)) {
      for (const vcpus of [1, 2, 4, 8, 16, 32, 64]) {
        for (const features of [1, 0x21])
          expect(measurementOf({ files }, bytes, { cpu, vcpus, features: `0x${features.toString(16)}` })).toBe(
            secondImplementation(files, image, { vcpus, signature, features }),
          );
      }
    }
  });

  it('is the same from hashes and from the files themselves', () => {
    const kernel = {
      image: new Uint8Array(Buffer.from('kernel')),
      initrd: new Uint8Array(Buffer.from('initrd')),
      commandLine: files.cmdline,
    };
    const whole = launchDigest({
      firmware: bytes,
      kernel,
      vcpus: 4,
      cpuSignature: cpuSignature('EPYC-Milan'),
      guestFeatures: 1n,
      vmm: 'QEMU',
    });
    expect(measurementOf({ files }, bytes, shape)).toBe(toHex(whole));
  });

  it('changes with one byte of any input', () => {
    const flipped = bytes.map((byte, at) => (at === 100 ? byte ^ 1 : byte));
    const all = [
      measurementOf({ files }, bytes, shape),
      measurementOf({ files }, flipped, shape),
      measurementOf({ files: { ...files, kernel: { ...files.kernel, sha256: hash('kernem') } } }, bytes, shape),
      measurementOf({ files: { ...files, initrd: { ...files.initrd, sha256: hash('initre') } } }, bytes, shape),
      measurementOf({ files: { ...files, cmdline: `${files.cmdline} ` } }, bytes, shape),
      measurementOf({ files }, bytes, { ...shape, vcpus: 5 }),
      measurementOf({ files }, bytes, { ...shape, cpu: 'EPYC-Genoa' }),
      measurementOf({ files }, bytes, { ...shape, features: '0x21' }),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(() => measurementOf({ files }, bytes, { ...shape, features: '33' })).toThrow('GUEST_MANIFEST');
  });
});

function launchKey(): LaunchKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const { x, y } = privateKey.export({ format: 'jwk' });
  const key = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return {
    point: concatBytes(Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')),
    sign: (message) => sign('sha384', message, { key, dsaEncoding: 'ieee-p1363' }),
  };
}

const [idKey, authorKey] = [launchKey(), launchKey()];
const measurement = measurementOf({ files }, bytes, shape);
const values = { measurement, familyId: '11'.repeat(16), imageId: '22'.repeat(16), guestSvn: 7, policy: 0x130000n };

async function manifest(change: Partial<GuestManifest> = {}): Promise<GuestManifest> {
  const { block, auth } = await makeIdBlock(values, idKey, authorKey);
  return {
    ...{
      version: 1,
      name: 'veritrain-guest',
      flavour: 'cpu',
      tag: 'v1',
      commit: '0'.repeat(40),
      lockSha256: hash('lock'),
    },
    ...{ inputs: [], files, listSha256: hash('list'), sbomSha256: hash('sbom'), guestSvn: 7 },
    firmware: { name: 'made here', sha256: toHex(sha('sha256', image)), enforcesHashes: true },
    ...{ idKeyDigest: launchKeyDigest(idKey.point), authorKeyDigest: launchKeyDigest(authorKey.point) },
    launch: [
      {
        vmm: 'QEMU',
        qemu: '>=10.0',
        ...shape,
        policy: '0x130000',
        measurement,
        idBlock: toBase64(block),
        idAuth: toBase64(auth),
      },
    ],
    ...change,
  };
}

describe('an ID block', () => {
  it('that was made is one that verifies, with and without an author', async () => {
    const { block, auth } = await makeIdBlock(values, idKey, authorKey);
    expect(await verifyIdBlock(block, auth)).toEqual({
      ...values,
      ...{ idKeyDigest: launchKeyDigest(idKey.point), authorKeyDigest: launchKeyDigest(authorKey.point) },
    });
    // Buffers too: their slices are views, and must not be changed in place.
    const [given, with_] = [Buffer.from(block), Buffer.from(auth)];
    await verifyIdBlock(given, with_);
    expect(given.equals(block) && with_.equals(auth)).toBe(true);
    const alone = await makeIdBlock(values, idKey);
    expect(await verifyIdBlock(alone.block, alone.auth)).not.toHaveProperty('authorKeyDigest');
  });

  it('of another key, or of a block that is another, does not verify', async () => {
    const stranger = { ...launchKey(), point: idKey.point };
    const forged = await makeIdBlock(values, stranger, authorKey);
    await expect(verifyIdBlock(forged.block, forged.auth)).rejects.toThrow('SNP_ID_BLOCK_SIGNATURE');
    const { auth } = await makeIdBlock(values, idKey, authorKey);
    const { block } = await makeIdBlock({ ...values, guestSvn: 8 }, idKey, authorKey);
    await expect(verifyIdBlock(block, auth)).rejects.toThrow('SNP_ID_BLOCK_SIGNATURE');
    await expect(makeIdBlock({ ...values, measurement: '00' }, idKey)).rejects.toThrow('SNP_ID_BLOCK');
  });
});

describe('a manifest', () => {
  const listed = enforcingFirmware as unknown as { name: string; sha256: string; seen: string }[];
  const withFirmware = async (act: () => Promise<void>): Promise<void> => {
    listed.push({ name: 'made here', sha256: toHex(sha('sha256', image)), seen: '2026-11-24' });
    try {
      await act();
    } finally {
      listed.pop();
    }
  };

  it('holds where every measurement and ID block follows from it', () =>
    withFirmware(async () => expect(await verifyLaunches(await manifest(), bytes)).toBe(1)));

  it('GUEST_FIRMWARE: firmware that is on no list of those that enforce hashes, or another, is refused', async () => {
    await expect(verifyLaunches(await manifest(), bytes)).rejects.toThrow('GUEST_FIRMWARE');
    await withFirmware(async () => {
      const other = bytes.map((byte, at) => (at === 9 ? byte ^ 1 : byte));
      await expect(verifyLaunches(await manifest(), other)).rejects.toThrow('GUEST_FIRMWARE');
      const lax = await manifest();
      await expect(
        verifyLaunches({ ...lax, firmware: { ...lax.firmware, enforcesHashes: false } }, bytes),
      ).rejects.toThrow('GUEST_FIRMWARE');
    });
  });

  it('GUEST_MANIFEST: a measurement, shape, policy, SVN or key that the launch does not have is refused', () =>
    withFirmware(async () => {
      const honest = await manifest();
      const [launch] = honest.launch;
      const stranger = launchKeyDigest(launchKey().point);
      const { idBlock: _, ...without } = launch!;
      const forged: Partial<GuestManifest>[] = [
        { launch: [{ ...launch!, measurement: `${measurement.slice(2)}00` }] },
        { launch: [{ ...launch!, vcpus: 8 }] },
        { launch: [{ ...launch!, cpu: 'EPYC-Genoa' }] },
        { launch: [{ ...launch!, policy: '0x30000' }] },
        { launch: [without] },
        { launch: [] },
        { files: { ...files, cmdline: 'console=ttyS0 rdinit=/bin/sh' } },
        { files: { ...files, initrd: { ...files.initrd, sha256: hash('other') } } },
        { guestSvn: 8 },
        { idKeyDigest: stranger },
        { authorKeyDigest: stranger },
      ];
      for (const change of forged)
        await expect(
          verifyLaunches({ ...honest, ...change }, bytes),
          JSON.stringify(change).slice(0, 60),
        ).rejects.toThrow('GUEST_MANIFEST');
    }));

  it('is signed over its meaning: another key, a changed byte and an unknown field are refused', async () => {
    const pair = generateKeyPairSync('ed25519');
    const publicKey = new Uint8Array(Buffer.from(pair.publicKey.export({ format: 'jwk' }).x!, 'base64url'));
    const other = new Uint8Array(
      Buffer.from(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x!, 'base64url'),
    );
    const honest = await manifest();
    const signed = await signGuestManifest(
      honest,
      publicKey,
      (message) => new Uint8Array(sign(null, message, pair.privateKey)),
    );
    expect(await verifyGuestManifest(signed, publicKey)).toEqual(honest);
    await expect(verifyGuestManifest(signed, other)).rejects.toThrow(/COSE/);
    for (let at = 0; at < signed.length; at += 397)
      await expect(
        verifyGuestManifest(
          signed.map((byte, index) => (index === at ? byte ^ 1 : byte)),
          publicKey,
        ),
      ).rejects.toThrow();
    await expect(verifyGuestManifest(signed.subarray(0, -1), publicKey)).rejects.toThrow();
    expect(readGuestManifest(JSON.stringify(honest))).toEqual(honest);
    expect(() => readGuestManifest(JSON.stringify({ ...honest, note: 'x' }))).toThrow('DOCUMENT_SHAPE');
    expect(() => readGuestManifest(JSON.stringify({ ...honest, commit: 'HEAD' }))).toThrow('DOCUMENT_SHAPE');
  });
});
