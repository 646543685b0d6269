/** PID 1, compiled by the locked compiler under the locked C library, with the locked headers and nothing of this machine. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import type { ArchivedFile } from './tar.js';

const library = 'usr/lib/x86_64-linux-gnu';
const musl = 'usr/lib/x86_64-linux-musl';

/** What of each package compiles. */
export const compilerParts: Readonly<Record<string, (path: string) => boolean>> = {
  libc6: (path) => path.startsWith(`${library}/`) && !path.includes('/gconv/'),
  tcc: (path) =>
    path === 'usr/bin/tcc' || path === 'usr/bin/x86_64-linux-gnu-tcc' || path.startsWith(`${library}/tcc/`),
  'musl-dev': (path) => path.startsWith(`${musl}/`) || path.startsWith('usr/include/x86_64-linux-musl/'),
};

/**
 * @param packages  files of `compilerParts`
 * @param sources  by name; `init.c` includes the others
 * @returns a static program of x86-64
 * @throws ConfigurationError GUEST_COMPILER
 */
export function compileInit(
  packages: ReadonlyMap<string, ReadonlyMap<string, ArchivedFile>>,
  sources: ReadonlyMap<string, Uint8Array>,
): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-init-'));
  try {
    for (const [name, files] of packages)
      for (const [path, file] of files) put(join(folder, name, path), files, path, file);
    for (const [name, bytes] of sources) writeFileSync(join(folder, name), bytes);
    const [libc, tcc, dev] = ['libc6', 'tcc', 'musl-dev'].map((name) => join(folder, name)) as [string, string, string];
    const [libraries, objects, own] = [join(libc, library), join(dev, musl), join(tcc, library, 'tcc')];
    const command = [
      ...['--library-path', libraries, join(tcc, 'usr/bin/tcc'), `-B${own}`, '-static', '-nostdlib', '-nostdinc'],
      ...[`-I${join(dev, 'usr/include/x86_64-linux-musl')}`, `-I${join(own, 'include')}`, '-o', 'init'],
      ...[join(objects, 'crt1.o'), join(objects, 'crti.o'), 'init.c', join(objects, 'libc.a')],
      ...[join(own, 'libtcc1.a'), join(objects, 'crtn.o')],
    ];
    const run = spawnSync(join(libraries, 'ld-linux-x86-64.so.2'), command, { cwd: folder, env: {}, encoding: 'utf8' });
    if (run.status !== 0) throw failed(run.error?.message ?? run.stderr.slice(0, 500));
    return readFileSync(join(folder, 'init'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function put(at: string, files: ReadonlyMap<string, ArchivedFile>, path: string, file: ArchivedFile): void {
  const bytes = contentOf(files, path, file);
  if (bytes === undefined) return;
  mkdirSync(dirname(at), { recursive: true, mode: 0o755 });
  writeFileSync(at, bytes, { mode: 0o755 });
}

/** The bytes behind a link inside the same package; undefined where it leads out of it. */
export function contentOf(
  files: ReadonlyMap<string, ArchivedFile>,
  path: string,
  file: ArchivedFile | undefined = files.get(path),
): Uint8Array | undefined {
  for (let [at, seen, hops] = [path, file, 0]; seen !== undefined && hops < 8; hops++) {
    if (seen.link === undefined) return seen.bytes;
    at = join(seen.link.startsWith('/') ? '' : dirname(at), seen.link).replace(/^\//, '');
    seen = files.get(at);
  }
  return undefined;
}

function failed(got: string): ConfigurationError {
  return new ConfigurationError('GUEST_COMPILER', {
    expected: 'enclave/guest/init.c compiled by the locked compiler',
    got,
    rule: 'enclave/guest/README.md, image',
    action: 'build on a Linux of x86-64',
  });
}
