/**
 * Certificate table of an extended guest request (AMD 56421, MSG_REPORT_REQ; `auxblob` of configfs-tsm). The host
 * supplies it, so every offset is checked: bounds, overlap, duplicates.
 */
import { copyOf, isZero, toHex } from './bytes.js';
import { Rejection } from './errors.js';
import { certTableBytesMax } from './limits.js';
import { readPem } from './pem.js';

export type CertTableRole = 'vcek' | 'vlek' | 'ask' | 'ark' | 'crl' | 'other';

export interface CertTableEntry {
  readonly role: CertTableRole;
  /** 32 hexadecimal digits in memory order. */
  readonly guid: string;
  readonly data: Uint8Array;
}

const roles: Readonly<Record<string, CertTableRole>> = {
  '63da758de6644564adc5f4b93be8accd': 'vcek',
  a8074bc2a25a483eaae639c045a0b8a1: 'vlek',
  '4ab7b379bbac4fe4a02f05aef327c782': 'ask',
  c0b406a4a803495297433fb6014cd0ae: 'ark',
  '92f81bc358114d3d97ffd19f88dc67ea': 'crl',
};
const entryBytes = 24;

/** @throws Rejection SNP_CERT_TABLE */
export function parseCertTable(table: Uint8Array): CertTableEntry[] {
  if (table.length > certTableBytesMax) refuse(`at most ${certTableBytesMax} bytes`, `${table.length}`);
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  const found: { guid: string; start: number; end: number }[] = [];
  let offset = 0;
  for (; ; offset += entryBytes) {
    if (offset + entryBytes > table.length) return refuse('a terminating entry of zeros', 'the end of the table');
    if (isZero(table.subarray(offset, offset + entryBytes))) break;
    const start = view.getUint32(offset + 16, true);
    const end = start + view.getUint32(offset + 20, true);
    found.push({ guid: toHex(table.subarray(offset, offset + 16)), start, end });
  }
  const header = offset + entryBytes;
  const sorted = [...found].sort((a, b) => a.start - b.start);
  sorted.forEach((entry, index) => {
    const previous = sorted[index - 1];
    if (entry.start < header || entry.end > table.length)
      refuse('entries behind the header and inside the table', `${entry.start}..${entry.end}`);
    if (previous !== undefined && previous.end > entry.start)
      refuse('entries without overlap', `${previous.guid} and ${entry.guid}`);
  });
  if (new Set(found.map(({ guid }) => guid)).size !== found.length) refuse('each GUID once', 'a GUID twice');
  return found.map(({ guid, start, end }) => ({ guid, role: roles[guid] ?? 'other', data: copyOf(table, start, end) }));
}

/** DER certificates and CRLs of a table; entries are DER or PEM in the field. @throws Rejection SNP_CERT_TABLE, X509_SIZE, X509_PEM */
export function certTableEndorsements(table: Uint8Array): { certificates: Uint8Array[]; crls: Uint8Array[] } {
  const entries = parseCertTable(table);
  const certificates = entries
    .filter(({ role }) => role !== 'crl' && role !== 'other')
    .flatMap(({ data }) => derOf(data));
  return { certificates, crls: entries.filter(({ role }) => role === 'crl').map(({ data }) => data) };
}

function derOf(data: Uint8Array): Uint8Array[] {
  if (data[0] === 0x30) return [data];
  return readPem(new TextDecoder().decode(data));
}

function refuse(expected: string, got: string): never {
  throw new Rejection('SNP_CERT_TABLE', { expected, got, rule: 'AMD 56421 §4.1.8.1; attestation/SPEC.md §5.9' });
}
