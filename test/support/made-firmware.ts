/** Firmware for launch digests that is made here: it ends like OVMF, and starts nothing. */
import { fromHex } from '#attestation/base';

const le = (value: bigint | number, bytes: number): Buffer => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out.subarray(0, bytes);
};

/** A GUID as it lies in memory. */
function guidBytes(guid: string): Uint8Array {
  const [a, b, c, ...rest] = guid.split('-').map(fromHex);
  return Buffer.concat([a!.reverse(), b!.reverse(), c!.reverse(), ...rest]);
}

const hashTable = { gpa: 0x810000, at: 0x810c00 };
const resetEip = 0x80b004;

/** Two pages that end like OVMF: metadata with a page of secrets, one of CPUID and one for the kernel's hashes. */
export function madeFirmware(): Uint8Array {
  const image = Buffer.alloc(8192, 0x5a);
  const sections = [
    [0x809000, 0x1000, 2],
    [0x80b000, 0x1000, 3],
    [hashTable.gpa, 0x1000, 0x10],
  ] as const;
  const metadata = Buffer.concat([
    Buffer.from('ASEV'),
    le(16 + 12 * sections.length, 4),
    le(1, 4),
    le(sections.length, 4),
    ...sections.flatMap((section) => section.map((word) => le(word, 4))),
  ]);
  metadata.copy(image, 4096);
  const entry = (guid: string, data: Buffer): Buffer => Buffer.concat([data, le(data.length + 18, 2), guidBytes(guid)]);
  const entries = Buffer.concat([
    entry('7255371f-3a3b-4b04-927b-1da6efa8d454', Buffer.concat([le(hashTable.at, 4), le(0x400, 4)])),
    entry('00f771de-1a7e-4fcb-890e-68c77e2fb44e', le(resetEip, 4)),
    entry('dc886566-984a-4798-a75e-5585a7bf67cc', le(image.length - 4096, 4)),
  ]);
  const footer = Buffer.concat([le(entries.length + 18, 2), guidBytes('96b582de-1fb2-45f7-baea-a366c55a082d')]);
  Buffer.concat([entries, footer]).copy(image, image.length - 32 - footer.length - entries.length);
  return new Uint8Array(image);
}
