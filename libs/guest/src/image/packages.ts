/** Files of locked packages: Debian's (`ar` with a tar of `xz`), and npm's (a tar of gzip below `package/`). */
import { spawnSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import { ConfigurationError } from '#attestation/base';
import { archiveBytesMax } from './limits.js';
import { readTar, type ArchivedFile } from './tar.js';

/** @throws ConfigurationError GUEST_ARCHIVE, GUEST_TOOL */
export function debianFiles(deb: Uint8Array, wanted: (path: string) => boolean): Map<string, ArchivedFile> {
  const members = arMembers(deb);
  const data = members.get('data.tar.xz');
  if (data === undefined)
    throw malformed('data.tar.xz in a Debian package', [...members.keys()].join(' ') || 'nothing');
  return readTar(unxz(data), wanted);
}

/** @throws ConfigurationError GUEST_ARCHIVE */
export function npmFiles(tarball: Uint8Array, wanted: (path: string) => boolean): Map<string, ArchivedFile> {
  let archive: Uint8Array;
  try {
    archive = gunzipSync(tarball, { maxOutputLength: archiveBytesMax });
  } catch {
    throw malformed('a gzip file', 'another');
  }
  const inside = (path: string): string => path.replace(/^[^/]+\//, '');
  const found = readTar(archive, (path) => wanted(inside(path)));
  return new Map([...found].map(([path, file]) => [inside(path), file]));
}

/** Decoding is deterministic: it does not matter whose `xz` does it. @throws ConfigurationError GUEST_ARCHIVE, GUEST_TOOL */
export function unxz(packed: Uint8Array): Uint8Array {
  const { status, stdout, error } = spawnSync('xz', ['--decompress', '--stdout'], {
    input: packed,
    maxBuffer: archiveBytesMax,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') {
    throw new ConfigurationError('GUEST_TOOL', {
      expected: 'the program xz',
      got: 'none',
      rule: 'enclave/guest/README.md, inputs',
      action: 'apt install xz-utils',
    });
  }
  if (status !== 0) throw malformed('an xz file', 'another');
  return stdout;
}

const arHeader = 60;

function arMembers(archive: Uint8Array): Map<string, Uint8Array> {
  const ascii = (from: number, to: number): string => Buffer.from(archive.subarray(from, to)).toString('latin1').trim();
  if (ascii(0, 8) !== '!<arch>') throw malformed('a Debian package', 'another file');
  const members = new Map<string, Uint8Array>();
  for (let at = 8; at + arHeader <= archive.length;) {
    const size = Number(ascii(at + 48, at + 58));
    const start = at + arHeader;
    if (!Number.isSafeInteger(size) || size < 0 || start + size > archive.length)
      throw malformed('an ar archive', 'a cut one');
    members.set(ascii(at, at + 16).replace(/\/$/, ''), archive.subarray(start, start + size));
    at = start + size + (size % 2);
  }
  return members;
}

function malformed(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_ARCHIVE', {
    ...{ expected, got, rule: 'deb(5)' },
    action: 'fetch the package again',
  });
}
