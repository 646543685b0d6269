/** Regular files and links of a tar archive (POSIX ustar with pax and GNU long names), as package archives hold them. */
import { ConfigurationError } from '#attestation/base';

export interface ArchivedFile {
  readonly bytes: Uint8Array;
  /** Target of a symbolic link; its bytes are empty. */
  readonly link?: string;
}

const block = 512;

/**
 * @param wanted  by path without a leading `./`; others are passed over
 * @throws ConfigurationError GUEST_ARCHIVE
 */
export function readTar(archive: Uint8Array, wanted: (path: string) => boolean): Map<string, ArchivedFile> {
  const found = new Map<string, ArchivedFile>();
  let longName: string | undefined;
  let pax: ReadonlyMap<string, string> = new Map();
  for (let at = 0; at + block <= archive.length && archive[at] !== 0;) {
    const header = archive.subarray(at, at + block);
    const size = octal(header, 124, 12);
    const body = archive.subarray(at + block, at + block + size);
    if (body.length !== size || checksum(header) !== octal(header, 148, 8)) throw malformed(`a bad header at ${at}`);
    at += block + Math.ceil(size / block) * block;
    const kind = String.fromCharCode(header[156]!);
    if (kind === 'L') longName = text(body, 0, body.length);
    else if (kind === 'x') pax = paxRecords(body);
    if (kind === 'L' || kind === 'x' || kind === 'g') continue;
    const path = (pax.get('path') ?? longName ?? shortName(header)).replace(/^(\.\/)+/, '');
    const link = pax.get('linkpath') ?? text(header, 157, 100);
    [longName, pax] = [undefined, new Map()];
    if (!wanted(path)) continue;
    if (kind === '0' || kind === '\0') found.set(path, { bytes: body.slice() });
    else if (kind === '2') found.set(path, { bytes: new Uint8Array(), link });
    else if (kind !== '5') throw malformed(`an entry of kind ${kind} for ${path}`);
  }
  return found;
}

function shortName(header: Uint8Array): string {
  const prefix = text(header, 257, 5) === 'ustar' ? text(header, 345, 155) : '';
  return prefix === '' ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('utf8');
}

function octal(bytes: Uint8Array, at: number, length: number): number {
  const digits = text(bytes, at, length).trim();
  if (!/^[0-7]{1,11}$/.test(digits)) throw malformed(`a number ${JSON.stringify(digits)}`);
  return Number.parseInt(digits, 8);
}

/** Sum of the header's bytes, its own field counted as spaces. */
function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 32 : byte), 0);
}

/** `LENGTH KEY=VALUE\n`, LENGTH in bytes of the whole record. */
function paxRecords(body: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length;) {
    const digits = /^(\d{1,7}) /.exec(text(body, at, 8))?.[1];
    const length = Number(digits);
    if (digits === undefined || length <= digits.length + 2 || at + length > body.length)
      throw malformed('pax records');
    const record = text(body, at + digits.length + 1, length - digits.length - 2);
    const cut = record.indexOf('=');
    records.set(record.slice(0, cut), record.slice(cut + 1));
    at += length;
  }
  return records;
}

function malformed(got: string): ConfigurationError {
  return new ConfigurationError('GUEST_ARCHIVE', {
    expected: 'a tar archive of files, folders and symbolic links',
    got,
    rule: 'POSIX.1-2001 pax',
    action: 'fetch the package again',
  });
}
