/** The manifest's measurements against an independent calculator, with firmware that is made here; and its forgers. */
import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { calculatedDigest } from '#test/launch-calculator';
import { madeFirmware } from '#test/made-firmware';
import { concatBytes, toBase64, toHex } from '../base/bytes.js';
import { launchKeyDigest, makeIdBlock, verifyIdBlock, type LaunchKey } from '../snp/id-block.js';
import { enforcingFirmware, firmwareLaunch } from './firmware.js';
import { launchDigest } from './launch-digest.js';
import {
  measurementOf,
  readGuestManifest,
  signGuestManifest,
  verifyGuestManifest,
  verifyLaunches,
  type GuestManifest,
} from './manifest.js';
import { cpuSignature } from './vmsa.js';

const sha = (name: 'sha256' | 'sha384', ...parts: Uint8Array[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash(name)).digest();
const image = Buffer.from(madeFirmware());
const bytes = new Uint8Array(image);
const hash = (text: string): string => sha('sha256', Buffer.from(text)).toString('hex');
const files: GuestManifest['files'] = {
  kernel: { sha256: hash('kernel'), bytes: 6 },
  initrd: { sha256: hash('initrd'), bytes: 6 },
  cmdline: 'console=ttyS0 rdinit=/init',
};
const shape = { vcpus: 4, cpu: 'EPYC-Milan', features: '0x1' };
function measuredOrRefused(changed: GuestManifest['files'], firmware: Uint8Array): string {
  try {
    return measurementOf({ files: changed }, firmware, shape);
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const models = ['EPYC-Rome', 'EPYC-Milan', 'EPYC-Genoa', 'EPYC-Turin'] as const;

describe('a measurement', () => {
  it('is that of an independent calculator for every model and count of processors', () => {
    for (const cpu of models) {
      for (const vcpus of [1, 2, 4, 8, 16, 32, 64]) {
        for (const features of [1, 0x21])
          expect(measurementOf({ files }, bytes, { cpu, vcpus, features: `0x${features.toString(16)}` })).toBe(
            calculatedDigest({
              ...{ firmware: image, kernel: Buffer.from(files.kernel.sha256, 'hex') },
              ...{ initrd: Buffer.from(files.initrd.sha256, 'hex'), commandLine: files.cmdline, vcpus, cpu, features },
            }),
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

  it('changes with any byte of the firmware, of the hashes and of the command line', () => {
    const honest = measurementOf({ files }, bytes, shape);
    const stride = process.env['VERITRAIN_WIDE'] === '1' ? 1 : 37;
    for (let at = 0; at < bytes.length; at += stride) {
      const other = bytes.map((byte, index) => (index === at ? byte ^ (1 << (at % 8)) : byte));
      expect(measuredOrRefused(files, other), `firmware byte ${at}`).not.toBe(honest);
    }
    for (const name of ['kernel', 'initrd'] as const) {
      for (let at = 0; at < 32; at++) {
        const other = Buffer.from(files[name].sha256, 'hex').map((byte, index) => (index === at ? byte ^ 1 : byte));
        const changed = { ...files, [name]: { ...files[name], sha256: toHex(other) } };
        expect(measuredOrRefused(changed, bytes), `${name} hash ${at}`).not.toBe(honest);
      }
    }
    for (let at = 0; at < files.cmdline.length; at++) {
      const cmdline = `${files.cmdline.slice(0, at)}~${files.cmdline.slice(at + 1)}`;
      expect(measuredOrRefused({ ...files, cmdline }, bytes), `command line ${at}`).not.toBe(honest);
    }
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

it('SNP_ID_BLOCK: bytes of its authentication page that nothing signs are zero', async () => {
  const both = [await makeIdBlock(values, idKey, authorKey), await makeIdBlock(values, idKey)];
  for (const { block, auth } of both) {
    for (const at of [0x008, 0x03f, 0x644, 0x67f, 0xc84, 0xfff, ...(auth[4] === 0 ? [0x680, 0x880, 0xc83] : [])]) {
      const other = auth.map((byte, index) => (index === at ? 1 : byte));
      await expect(verifyIdBlock(block, other), `byte ${at}`).rejects.toThrow('SNP_ID_BLOCK');
    }
    await expect(
      verifyIdBlock(
        block,
        auth.map((byte, index) => (index === 4 ? 2 : byte)),
      ),
    ).rejects.toThrow('SNP_ID_BLOCK');
  }
});

describe('a manifest', () => {
  const listed = enforcingFirmware as unknown as (typeof enforcingFirmware)[number][];
  const withFirmware = async (act: () => Promise<void>): Promise<void> => {
    const own = { name: 'made here', sha256: toHex(sha('sha256', image)), seen: '2026-11-24' };
    listed.push({ ...own, launch: firmwareLaunch(bytes) });
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
