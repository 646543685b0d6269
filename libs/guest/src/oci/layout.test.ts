/** Layers and layouts as other programs read them, and twice the same. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startProcess, tailOf } from '#libs/process';
import { fileMode, folderMode, programMode, withFolders } from '../image/cpio.js';
import { readTar } from '../image/tar.js';
import { mediaTypes, named, writeBlob, writeDocument, writeIndex, type Descriptor } from './layout.js';
import { packageFolders, type LockedPackages } from './service-packages.js';
import { tarArchive } from './tar-archive.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-oci-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const long = `app/${'deep/'.repeat(30)}file.js`;
const entries = withFolders([
  { path: 'bin/node', mode: programMode, bytes: Buffer.from('program') },
  { path: long, mode: fileMode, bytes: Buffer.from('x'.repeat(513)) },
  { path: 'empty', mode: fileMode, bytes: new Uint8Array() },
  { path: 'names/ä', mode: fileMode, bytes: Buffer.from('ä') },
]);

describe('a layer', () => {
  it('has what was put in, for our reader', () => {
    const archive = Buffer.concat(tarArchive(entries));
    const found = readTar(archive, () => true);
    const files = entries.filter(({ mode }) => mode !== folderMode);
    expect([...found].map(([path, { bytes }]) => [path, Buffer.from(bytes).toString()])).toEqual(
      files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]),
    );
    expect(archive.length % 512).toBe(0);
  });

  it('is read by tar, with modes, owners and no time', async () => {
    const layer = writeBlob(
      folder,
      mediaTypes.layer,
      tarArchive([...entries, { ...entries[0]!, path: 'own', owner: 65_532 }]),
    );
    const file = join(folder, 'blobs/sha256', layer.digest.slice('sha256:'.length));
    const command = ['tar', '--utc', '--numeric-owner', '-tvf', file] as const;
    const { child, exited } = startProcess([...command], { stdio: ['ignore', 'pipe', 'inherit'] });
    const said = tailOf(child.stdout!, 100_000);
    expect(await exited).toBe(0);
    const lines = said().trim().split('\n');
    expect(lines).toHaveLength(entries.length + 1);
    expect(lines.every((line) => line.includes(' 1970-01-01 00:00 '))).toBe(true);
    const lineOf = (end: string) => lines.find((line) => line.endsWith(` ${end}`));
    expect(lineOf('bin/node')).toMatch(/^-rwxr-xr-x 0\/0 +7 /);
    expect(lineOf(long)).toMatch(/^-rw-r--r-- 0\/0 +513 /);
    expect(lineOf('own/')).toMatch(/^drwxr-xr-x 65532\/65532 /);
  });
});

describe('a layout', () => {
  const write = (out: string): string => {
    const layer = writeBlob(out, mediaTypes.layer, tarArchive(entries));
    const config = writeDocument(out, mediaTypes.config, { rootfs: { type: 'layers', diff_ids: [layer.digest] } });
    const manifest = { schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers: [layer] };
    return writeIndex(out, [{ ...writeDocument(out, mediaTypes.manifest, manifest), annotations: { [named]: 'a' } }]);
  };

  it('is the same wherever it is written, and again over itself', () => {
    const digests = [join(folder, 'one'), join(folder, 'two'), join(folder, 'two')].map(write);
    expect(new Set(digests).size).toBe(1);
  });

  it('has every blob under its digest and with its size', () => {
    const out = join(folder, 'whole');
    write(out);
    const json = (path: string) => JSON.parse(readFileSync(join(out, path), 'utf8')) as Record<string, Descriptor[]>;
    expect(json('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' });
    const blob = ({ digest }: Descriptor): string => join('blobs/sha256', digest.slice('sha256:'.length));
    const [manifest] = json('index.json')['manifests']!;
    const { config, layers } = json(blob(manifest!)) as unknown as { config: Descriptor; layers: Descriptor[] };
    for (const each of [manifest!, config, ...layers]) {
      const bytes = readFileSync(join(out, blob(each)));
      expect([`sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes.length]).toEqual([
        each.digest,
        each.size,
      ]);
      expect(statSync(join(out, blob(each))).size).toBe(each.size);
    }
  });
});

describe('packages of services', () => {
  const lock: LockedPackages = {
    'node_modules/a': { dependencies: { b: '1', c: '1' }, optionalDependencies: { c: '1', d: '1' } },
    'node_modules/b': { dependencies: { e: '1' }, peerDependencies: { f: '1', absent: '1' } },
    'node_modules/b/node_modules/e': {},
    'node_modules/e': {},
    'node_modules/c': {},
    'node_modules/d': {},
    'node_modules/f': {},
    'node_modules/tool': { dev: true },
  };

  it('are followed as Node resolves them, peers that are there too, and of the optional ones those that are named', () => {
    expect(packageFolders(lock, ['a'], ['d'])).toEqual([
      'node_modules/a',
      'node_modules/b',
      'node_modules/b/node_modules/e',
      'node_modules/d',
      'node_modules/f',
    ]);
  });

  it('SERVICES_PACKAGE: one of development, or that the lock lacks, is none', () => {
    for (const name of ['tool', 'nothing'])
      expect(() => packageFolders(lock, [name], [])).toThrow(expect.objectContaining({ code: 'SERVICES_PACKAGE' }));
  });
});
