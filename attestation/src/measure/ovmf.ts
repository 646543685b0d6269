/**
 * What an OVMF image says about its own launch: the GUIDed table at its end and the SEV metadata it points to
 * (EDK II, OvmfPkg/ResetVector). The image is untrusted input.
 */
import { fromHex, toHex, uintLe } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { firmwareBytesMax } from '../base/limits.js';

type OvmfSectionKind = 'sec-mem' | 'secrets' | 'cpuid' | 'svsm-caa' | 'kernel-hashes';

interface OvmfSection {
  readonly kind: OvmfSectionKind;
  /** Guest physical address, page-aligned. */
  readonly gpa: number;
  /** Bytes, whole pages. */
  readonly size: number;
}

export interface Ovmf {
  readonly image: Uint8Array;
  /** Guest physical address of the first byte: the image ends at 4 GiB. */
  readonly gpa: number;
  readonly sections: readonly OvmfSection[];
  /** Where the kernel-hashes table goes; absent in images without that feature. */
  readonly hashTableGpa?: number;
  /** First instruction of further CPUs. */
  readonly resetEip: number;
}

export const guestPageBytes = 4096;
const fourGiB = 0x1_0000_0000;
const sectionKinds: Readonly<Record<number, OvmfSectionKind>> = {
  1: 'sec-mem',
  2: 'secrets',
  3: 'cpuid',
  4: 'svsm-caa',
  0x10: 'kernel-hashes',
};
const guids = {
  footer: guidBytes('96b582de-1fb2-45f7-baea-a366c55a082d'),
  hashTable: guidBytes('7255371f-3a3b-4b04-927b-1da6efa8d454'),
  resetBlock: guidBytes('00f771de-1a7e-4fcb-890e-68c77e2fb44e'),
  metadata: guidBytes('dc886566-984a-4798-a75e-5585a7bf67cc'),
};
const entryHeaderBytes = 18;
const tableEndFromImageEnd = 32;

/** A GUID as it lies in memory: the first three groups little-endian. */
export function guidBytes(guid: string): Uint8Array {
  const bytes = fromHex(guid.replaceAll('-', ''));
  const reversed = [...bytes.subarray(0, 4)]
    .reverse()
    .concat([...bytes.subarray(4, 6)].reverse(), [...bytes.subarray(6, 8)].reverse());
  return Uint8Array.of(...reversed, ...bytes.subarray(8));
}

/** @throws Rejection SNP_MEASURE_FIRMWARE */
export function parseOvmf(image: Uint8Array): Ovmf {
  if (image.length === 0 || image.length > firmwareBytesMax || image.length % guestPageBytes !== 0) {
    refuse(`whole pages, at most ${firmwareBytesMax} bytes`, `${image.length} bytes`);
  }
  const table = readTable(image);
  const word = (guid: Uint8Array): number | undefined => {
    const entry = table.get(toHex(guid));
    if (entry !== undefined && entry.length < 4) refuse('a table entry of 4 bytes', `${entry.length}`);
    return entry && Number(uintLe(entry, 0, 4));
  };
  const metadata = word(guids.metadata);
  const resetEip = word(guids.resetBlock);
  const hashTableGpa = word(guids.hashTable);
  if (metadata === undefined || resetEip === undefined)
    return refuse('SEV metadata and a reset block', 'an image without them');
  return {
    image,
    gpa: fourGiB - image.length,
    sections: readSections(image, image.length - metadata),
    ...(hashTableGpa !== undefined && { hashTableGpa }),
    resetEip,
  };
}

/** Entries are read from the end: data, u16 size of data and header, GUID. */
function readTable(image: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const footer = image.length - tableEndFromImageEnd - entryHeaderBytes;
  if (toHex(image.subarray(footer + 2, footer + entryHeaderBytes)) !== toHex(guids.footer))
    refuse('the footer GUID', 'another');
  const start = footer - (Number(uintLe(image, footer, 2)) - entryHeaderBytes);
  if (start < 0 || start > footer) refuse('a table inside the image', `${start}`);
  const table = new Map<string, Uint8Array>();
  for (let end = footer; end > start;) {
    const header = end - entryHeaderBytes;
    const size = Number(uintLe(image, header, 2));
    if (header < start || size < entryHeaderBytes || end - size < start)
      refuse('entries that fill the table', `${size} bytes`);
    const guid = toHex(image.subarray(header + 2, end));
    if (table.has(guid)) refuse('each GUID once', guid);
    table.set(guid, image.subarray(end - size, header));
    end -= size;
  }
  return table;
}

/** "ASEV", u32 size, u32 version 1, u32 count, then gpa, size, type as u32 each. */
function readSections(image: Uint8Array, start: number): readonly OvmfSection[] {
  if (start < 0 || start + 16 > image.length || toHex(image.subarray(start, start + 4)) !== '41534556') {
    refuse('metadata that begins with ASEV', 'something else');
  }
  const count = Number(uintLe(image, start + 12, 4));
  if (uintLe(image, start + 8, 4) !== 1n || start + 16 + 12 * count > image.length)
    refuse('version 1, sections inside the image', `${count} sections`);
  return Array.from({ length: count }, (_, index) => {
    const [gpa, size, type] = [0, 4, 8].map((field) => Number(uintLe(image, start + 16 + 12 * index + field, 4))) as [
      number,
      number,
      number,
    ];
    const kind = sectionKinds[type];
    if (kind === undefined || gpa % guestPageBytes !== 0 || size % guestPageBytes !== 0 || size > firmwareBytesMax) {
      return refuse('a known section of whole pages', `type ${type}, ${size} bytes at 0x${gpa.toString(16)}`);
    }
    return { kind, gpa, size };
  });
}

function refuse(expected: string, got: string): never {
  throw new Rejection('SNP_MEASURE_FIRMWARE', {
    expected,
    got,
    rule: 'EDK II OvmfPkg SEV metadata; attestation/SPEC.md §5.7',
  });
}
