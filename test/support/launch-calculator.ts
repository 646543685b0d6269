/**
 * A second launch digest, written from AMD 56860 §8.17, the APM's table B-4, QEMU's target/i386/sev.c and EDK II's reset
 * vector, with none of the code under test: it reads the firmware's table by itself.
 */
import { createHash } from 'node:crypto';

export interface CalculatedLaunch {
  readonly firmware: Uint8Array;
  /** SHA-256. */
  readonly kernel: Uint8Array;
  readonly initrd: Uint8Array;
  readonly commandLine: string;
  readonly vcpus: number;
  readonly cpu: keyof typeof cpuids;
  readonly features: number;
}

/** CPUID Fn0000_0001_EAX of QEMU's models (target/i386/cpu.c: family, model, stepping), written out. */
const cpuids = {
  'EPYC-Rome': 0x00830f10,
  'EPYC-Milan': 0x00a00f11,
  'EPYC-Genoa': 0x00a10f10,
  'EPYC-Turin': 0x00b00f00,
};

const sha = (name: 'sha256' | 'sha384', ...parts: Uint8Array[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash(name)).digest();
const le = (value: bigint | number, bytes: number): Buffer => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out.subarray(0, bytes);
};

/** A GUID as it lies in memory: three little-endian numbers, then bytes. */
function guid(text: string): Buffer {
  const [a, b, c, d, e] = text.split('-');
  return Buffer.concat([
    le(Number.parseInt(a!, 16), 4),
    le(Number.parseInt(b!, 16), 2),
    le(Number.parseInt(c!, 16), 2),
    Buffer.from(d! + e!, 'hex'),
  ]);
}

/** Data of the entry of that GUID: the table ends 32 bytes before the image does, each entry is data ‖ u16 size ‖ GUID. */
function tableEntry(image: Buffer, name: string): Buffer {
  const end = image.length - 32 - 18;
  const start = image.length - 32 - image.readUInt16LE(end);
  for (let at = end; at > start;) {
    const size = image.readUInt16LE(at - 18);
    if (image.subarray(at - 16, at).equals(guid(name))) return image.subarray(at - size, at - 18);
    at -= size;
  }
  throw new Error(`no entry ${name} in this firmware`);
}

const resetBlock = '00f771de-1a7e-4fcb-890e-68c77e2fb44e';
const hashTableBlock = '7255371f-3a3b-4b04-927b-1da6efa8d454';
const metadataBlock = 'dc886566-984a-4798-a75e-5585a7bf67cc';

export function calculatedDigest(launch: CalculatedLaunch): string {
  const image = Buffer.from(launch.firmware);
  let digest: Buffer = Buffer.alloc(48);
  const page = (type: number, gpa: number, contents: Uint8Array): void =>
    void (digest = sha('sha384', digest, contents, le(0x70, 2), Buffer.from([type, 0, 0, 0, 0, 0]), le(gpa, 8)));
  const none = Buffer.alloc(48);
  for (let at = 0; at < image.length; at += 4096)
    page(1, 2 ** 32 - image.length + at, sha('sha384', image.subarray(at, at + 4096)));
  const metadata = image.length - tableEntry(image, metadataBlock).readUInt32LE(0);
  for (let index = 0; index < image.readUInt32LE(metadata + 12); index++) {
    const [gpa, size, kind] = [0, 4, 8].map((field) => image.readUInt32LE(metadata + 16 + 12 * index + field)) as [
      number,
      number,
      number,
    ];
    if (kind === 2) page(5, gpa, none);
    else if (kind === 3) page(6, gpa, none);
    else if (kind === 0x10)
      page(1, gpa, sha('sha384', hashPage(launch, tableEntry(image, hashTableBlock).readUInt32LE(0))));
    else for (let at = 0; at < size; at += 4096) page(3, gpa + at, none);
  }
  const reset = tableEntry(image, resetBlock).readUInt32LE(0);
  for (let cpu = 0; cpu < launch.vcpus; cpu++)
    page(2, 0xfffffffff000, sha('sha384', saveArea(cpu === 0 ? 0xfffffff0 : reset, launch)));
  return digest.toString('hex');
}

/** QEMU's PaddedSevHashTable at its place in the page. */
function hashPage({ kernel, initrd, commandLine }: CalculatedLaunch, gpa: number): Buffer {
  const entry = (name: string, hash: Uint8Array): Buffer => Buffer.concat([guid(name), le(16 + 2 + 32, 2), hash]);
  const entries = Buffer.concat([
    entry('97d02dd8-bd20-4c94-aa78-e7714d36ab2a', sha('sha256', Buffer.from(`${commandLine}\0`))),
    entry('44baf731-3a2f-4bd7-9af1-41e29169781d', initrd),
    entry('4de79437-abd2-427f-b835-d5b172d2045b', kernel),
  ]);
  const page = Buffer.alloc(4096);
  Buffer.concat([guid('9438d606-4f22-4cc9-b479-a793d411fd21'), le(16 + 2 + entries.length, 2), entries]).copy(
    page,
    gpa % 4096,
  );
  return page;
}

function saveArea(eip: number, { cpu, features }: CalculatedLaunch): Buffer {
  const save = Buffer.alloc(4096);
  const segments = [
    [0x00, 0, 0x93, 0],
    [0x10, 0xf000, 0x9b, (eip & 0xffff0000) >>> 0],
    [0x20, 0, 0x93, 0],
    [0x30, 0, 0x93, 0],
    [0x40, 0, 0x93, 0],
    [0x50, 0, 0x93, 0],
    [0x60, 0, 0, 0],
    [0x70, 0, 0x82, 0],
    [0x80, 0, 0, 0],
    [0x90, 0, 0x8b, 0],
  ] as const;
  for (const [at, selector, attributes, base] of segments)
    Buffer.concat([le(selector, 2), le(attributes, 2), le(0xffff, 4), le(base, 8)]).copy(save, at);
  const registers = [
    [0xd0, 0x1000],
    [0x148, 0x40],
    [0x158, 0x10],
    [0x160, 0x400],
    [0x168, 0xffff0ff0],
    [0x170, 2],
    [0x178, eip & 0xffff],
    [0x268, 0x7040600070406n],
    [0x310, cpuids[cpu]],
    [0x3b0, features],
    [0x3e8, 1],
  ] as const;
  for (const [at, value] of registers) le(value, 8).copy(save, at);
  le(0x1f80, 4).copy(save, 0x408);
  le(0x37f, 2).copy(save, 0x410);
  return save;
}
