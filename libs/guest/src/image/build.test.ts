/** The image's form on a small set of made files: the same bytes whoever writes them, and a list that says what is in. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { buildGuest, fetchGuest, lockedInputs, refuseOpen, writeImage } from './build.js';
import { programFiles } from './closure.js';
import { cpioArchive, fileMode, programMode, withFolders, type ImageEntry } from './cpio.js';
import { inputsOf, recipeOf } from './contents.js';
import { guestFolder, readImageList, readLock, repository, type Flavour } from './lock.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-image-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const made = (path: string, text: string, mode = fileMode): ImageEntry => ({ path, mode, bytes: Buffer.from(text) });
const entries = [
  made('init', 'program', programMode),
  made('lib/z', ''),
  made('lib/a.b/c', 'deep'),
  made('lib/Z', 'upper'),
];
const contents = { kernel: Buffer.from('kernel'), firmware: Buffer.from('firmware'), entries };

describe('an image', () => {
  it('is the same under another mask, zone and language, and whatever the order of its files', () => {
    const before = { umask: process.umask(), zone: process.env['TZ'], language: process.env['LANG'] };
    const first = writeImage(folder, contents, 'quiet', 'made firmware');
    const initrd = readFileSync(join(folder, 'initrd.img'));
    process.umask(0o077);
    Object.assign(process.env, { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' });
    try {
      expect(writeImage(folder, { ...contents, entries: entries.toReversed() }, 'quiet', 'made firmware')).toEqual(
        first,
      );
      expect(readFileSync(join(folder, 'initrd.img')).equals(initrd)).toBe(true);
    } finally {
      process.umask(before.umask);
      Object.assign(process.env, { TZ: before.zone ?? 'UTC', LANG: before.language ?? 'C' });
    }
    expect(first.initrd).toEqual({
      file: 'initrd.img',
      sha256: createHash('sha256').update(initrd).digest('hex'),
      bytes: initrd.length,
    });
  });

  it('is an archive of the form newc: no time, no owner, numbers from 1, a block at the end', () => {
    const archive = Buffer.concat(cpioArchive(withFolders(entries)));
    expect(archive.length % 512).toBe(0);
    const headers = [...archive.toString('latin1').matchAll(/070701([0-9a-f]{104})/g)].map(([, fields]) =>
      fields!.match(/.{8}/g)!.map((field) => Number.parseInt(field, 16)),
    );
    expect(headers.map(([ino, mode, uid, gid, links, time]) => [ino, mode, uid, gid, links, time])).toEqual([
      [1, 0o100755, 0, 0, 1, 0],
      [2, 0o040755, 0, 0, 2, 0],
      [3, 0o100644, 0, 0, 1, 0],
      [4, 0o040755, 0, 0, 2, 0],
      [5, 0o100644, 0, 0, 1, 0],
      [6, 0o100644, 0, 0, 1, 0],
      [0, 0, 0, 0, 1, 0],
    ]);
    expect(createHash('sha256').update(archive).digest('hex')).toBe(
      '6fcd846f06a5c5ef8edf7083527bd45d40a429dd3fae56b491edf0e452384a47',
    );
  });

  it('lists every file by digest, mode, size and path, in the order of bytes', () => {
    writeImage(folder, contents, 'quiet', 'made firmware');
    const list = readFileSync(join(folder, 'files.txt'), 'utf8');
    expect(list.split('\n').map((line) => line.slice(65))).toEqual([
      ...[
        '100755 7 init',
        '040755 0 lib',
        '100644 5 lib/Z',
        '040755 0 lib/a.b',
        '100644 4 lib/a.b/c',
        '100644 0 lib/z',
      ],
      '',
    ]);
  });
});

describe('the locked image', () => {
  const [lock, list] = [readLock(), readImageList()];

  it.each<Flavour>(['cpu', 'dev', 'gpu'])(
    '%s names inputs by digest, each once, and files of inputs that are locked',
    (flavour) => {
      const inputs = inputsOf(recipeOf(flavour, lock, list));
      const names = inputs.map((input) => `${input.kind} ${input.name} ${input.version}`);
      expect(new Set(names).size).toBe(names.length);
      const packages = new Set([...lock.debian.map(({ name }) => name), ...lock.npm.map(({ name }) => `npm:${name}`)]);
      expect([...list.system, lock.kernel, lock.firmware].filter((each) => !packages.has(each.package))).toEqual([]);
      const paths = list.system.map(({ path }) => path);
      expect(new Set(paths).size).toBe(paths.length);
    },
  );

  it.skipIf(!existsSync(join(repository, 'dist/enclave/src/main.js'))).each<Flavour>(['cpu', 'dev', 'gpu'])(
    '%s names the packages that its program loads, and no other',
    (flavour) => {
      const { packages, without } = list.flavours[flavour];
      const read = (path: string): Uint8Array | undefined =>
        existsSync(join(repository, path)) && statSync(join(repository, path)).isFile()
          ? readFileSync(join(repository, path))
          : undefined;
      const { imports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
        imports: Readonly<Record<string, unknown>>;
      };
      const loaded = list.loaded
        .filter((each) => packages.includes(each.package))
        .flatMap(({ package: name, files }) => files.map((path) => `${name}/${path}`));
      const files = programFiles({
        entries: list.program,
        without,
        absent: list.absent,
        imports,
        packages,
        loaded,
        read,
      });
      expect(files).toContain('dist/enclave/src/attesters/tsm.js');
      expect(files.includes('dist/enclave/src/attesters/nvidia.js')).toBe(flavour === 'gpu');
      expect(files.includes('dist/enclave/src/attesters/simulated.js')).toBe(flavour === 'dev');
    },
  );

  it('of cpu leaves out everything simulated and the library of GPUs', () => {
    const { packages, without, files } = list.flavours.cpu;
    expect(without).toContain('dist/enclave/src/attesters/simulated.js');
    expect(packages.filter((name) => /koffi|x509/.test(name))).toEqual([]);
    expect(files).toEqual([]);
    expect(readFileSync(join(guestFolder, 'argv.cpu'), 'utf8')).toMatch(/--attester\nsnp\n$/);
  });

  it('of gpu takes evidence of a CPU and of GPUs, computes there, and has nothing simulated and no mark of Debian to demand', () => {
    const { without, files, packages } = list.flavours.gpu;
    expect(without).toContain('dist/enclave/src/attesters/simulated.js');
    expect(packages).toContain('node_modules/koffi');
    expect(files.map(({ path }) => path)).toEqual(['etc/root']);
    const own = (name: string): string => readFileSync(join(guestFolder, name), 'utf8');
    expect(own('argv.gpu')).toMatch(/--attester\nsnp\n--gpus\nnvml\n--provider\ncuda\n$/);
    expect(own('cmdline.gpu')).not.toMatch(/lockdown|sig_enforce/);
    const loaded = own('modules.gpu').trim().split('\n');
    const placed = [...list.system, ...list.flavours.gpu.system!].map(({ path }) => `/${path}`);
    expect(loaded.filter((path) => !placed.includes(path))).toEqual([]);
  });

  it('has three programs: the first process, Node and the loader', () => {
    const programs = list.system.filter(({ mode }) => mode === 'program').map(({ path }) => path);
    expect(programs).toEqual(['bin/node', 'lib64/ld-linux-x86-64.so.2']);
  });

  it('GUEST_INPUT_OPEN: a flavour whose inputs are open is refused with their names', async () => {
    expect(() => refuseOpen('cpu')).not.toThrow();
    expect(() => refuseOpen('dev')).not.toThrow();
    const { open } = lockedInputs('gpu');
    const named = open.join('\n');
    for (const part of [
      'Microsoft.ML.OnnxRuntime.Gpu.Linux',
      'libcudart',
      'libcublas',
      'libcudnn',
      'libnvidia-ml',
      'GSP',
      'nvidia.ko',
    ])
      expect(named).toContain(part);
    for (const act of [() => buildGuest('gpu', folder, { cache: folder }), () => fetchGuest('gpu', { cache: folder })])
      await expect(act()).rejects.toMatchObject({
        code: 'GUEST_INPUT_OPEN',
        detail: { got: `open: ${open.join('; ')}` },
      });
  });
});
