/** The disk of an image: equal twice, its tree as the kernel's documents and veritysetup have it, and no byte of it free. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileMode, programMode, type ImageEntry } from './cpio.js';
import { erofsImage } from './erofs.js';
import { guestFolder } from './lock.js';
import { rootOf, verityRoot } from './root.js';
import { checkVerity, verityBlock, verityTree, type VerityTree } from './verity.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-root-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const made = (path: string, bytes: Uint8Array, mode = fileMode): ImageEntry => ({ path, mode, bytes });
const noise = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => Math.imul(at + seed, 2_654_435_761) >>> 24);
const files = [
  made('lib/x86_64-linux-gnu/liba.so.1', noise(10_000, 1), programMode),
  made('lib/x86_64-linux-gnu/libb.so.2', noise(4096, 2)),
  made('lib/empty', new Uint8Array()),
  ...Array.from({ length: 300 }, (_, at) => made(`many/file-${at}-${'x'.repeat(at % 50)}`, noise(at, at))),
];

/** Reads a file system by its own document, with none of the writer's code. */
function filesOf(image: Uint8Array): Map<string, string> {
  const view = new DataView(image.buffer, image.byteOffset, image.length);
  const found = new Map<string, string>();
  const inode = (nid: number) => {
    const at = 4096 * view.getUint32(1024 + 40, true) + 32 * nid;
    const [size, place] = [view.getUint32(at + 8, true), 4096 * view.getUint32(at + 16, true)];
    return { mode: view.getUint16(at + 4, true), data: image.subarray(place, place + size) };
  };
  const walk = (nid: number, path: string): void => {
    const { data } = inode(nid);
    let before = '';
    for (let first = 0; first < data.length; first += 4096) {
      const block = data.subarray(first, first + 4096);
      const own = new DataView(block.buffer, block.byteOffset, block.length);
      const count = own.getUint16(8, true) / 12;
      for (let index = 0; index < count; index++) {
        const end = index + 1 < count ? own.getUint16(12 * (index + 1) + 8, true) : block.length;
        const name = Buffer.from(block.subarray(own.getUint16(12 * index + 8, true), end))
          .toString()
          .replace(/\0.*$/s, '');
        expect(name > before, `${name} after ${before}`).toBe(true);
        before = name;
        const child = Number(own.getBigUint64(12 * index, true));
        const isFolder = own.getUint8(12 * index + 10) === 2;
        if (name === '.') expect(child).toBe(nid);
        else if (isFolder && name !== '..') walk(child, `${path}${name}/`);
        else if (!isFolder) {
          const { mode, data: bytes } = inode(child);
          found.set(path + name, `${mode.toString(8)} ${createHash('sha256').update(bytes).digest('hex')}`);
        }
      }
    }
  };
  expect(view.getUint32(1024, true)).toBe(0xe0f5e1e2);
  expect(view.getUint32(1024 + 36, true)).toBe(image.length / 4096);
  walk(view.getUint16(1024 + 14, true), '');
  return found;
}

describe('a root', () => {
  it('is the same twice and in any order, under one word of the command line', () => {
    const [first, second] = [verityRoot(files), verityRoot(files.toReversed())];
    expect(Buffer.concat(second.bytes).equals(Buffer.concat(first.bytes))).toBe(true);
    expect(second.word).toBe(first.word);
    expect(first.word).toMatch(/^veritrain\.root=\d+:[0-9a-f]{64}$/);
    expect(verityRoot([...files.slice(1), made('lib/x86_64-linux-gnu/liba.so.1', noise(10_000, 3))]).word).not.toBe(
      first.word,
    );
  });

  it('has every file with its bytes and mode, as its document says', () => {
    const read = filesOf(erofsImage(files));
    const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
    expect(Object.fromEntries(read)).toEqual(
      Object.fromEntries(files.map(({ path, mode, bytes }) => [path, `${mode.toString(8)} ${hash(bytes)}`])),
    );
  });

  it('GUEST_ROOT: refuses links and what is no whole block', () => {
    expect(() => erofsImage([{ path: 'link', mode: 0o120777, bytes: Buffer.from('x') }])).toThrow('GUEST_ROOT');
    expect(() => verityTree(new Uint8Array(4097))).toThrow('GUEST_ROOT');
    expect(() => verityTree(new Uint8Array())).toThrow('GUEST_ROOT');
  });
});

describe('a tree of hashes', () => {
  it.each([1, 2, 128, 129, 16_385])('of %i blocks is built up from below, its top level first', (blocks) => {
    const data = new Uint8Array(blocks * verityBlock);
    data.set(noise(verityBlock, blocks), (blocks - 1) * verityBlock);
    const { root, tree } = verityTree(data);
    expect(tree.length / verityBlock).toBe(levels(blocks).reduce((sum, level) => sum + level, 0));
    const whole = Buffer.concat([data, tree]);
    expect(() => checkVerity(whole, { blocks, root })).not.toThrow();
    // A path from the last block to the root, hash by hash.
    let hash = createHash('sha256').update(data.subarray(-verityBlock)).digest();
    let index = blocks - 1;
    let end = tree.length;
    for (const level of levels(blocks)) {
      const start = end - level * verityBlock;
      expect(Buffer.from(tree.subarray(start + 32 * index, start + 32 * index + 32)).equals(hash)).toBe(true);
      index = Math.floor(index / 128);
      hash = createHash('sha256')
        .update(tree.subarray(start + verityBlock * index, start + verityBlock * (index + 1)))
        .digest();
      end = start;
    }
    expect(hash.toString('hex')).toBe(root);
  });

  it('GUEST_ROOT: refuses a flipped byte anywhere, and another root', () => {
    const data = erofsImage(files);
    const { blocks, root, tree } = verityTree(data);
    const whole = Buffer.concat([data, tree]);
    for (let at = 0; at < whole.length; at += 20_011) {
      whole[at]! ^= 1;
      expect(() => checkVerity(whole, { blocks, root }), `byte ${at}`).toThrow('GUEST_ROOT');
      whole[at]! ^= 1;
    }
    expect(() => checkVerity(whole, { blocks, root: '0'.repeat(64) })).toThrow('GUEST_ROOT');
    expect(() => checkVerity(whole.subarray(0, -1), { blocks, root })).toThrow('GUEST_ROOT');
    expect(() => checkVerity(whole, { blocks: blocks - 1, root })).toThrow('GUEST_ROOT');
    expect(() => checkVerity(whole, { blocks, root })).not.toThrow();
  });

  it('GUEST_ROOT: refuses what a reader of every second block does not see', () => {
    const data = noise(8 * verityBlock, 5);
    const { blocks, root, tree } = verityTree(data);
    const lax = (device: Uint8Array, expected: Omit<VerityTree, 'tree'>): boolean =>
      Array.from({ length: expected.blocks / 2 }, (_, at) => 2 * at).every((block) =>
        Buffer.from(device.subarray(block * verityBlock, (block + 1) * verityBlock)).equals(
          data.subarray(block * verityBlock, (block + 1) * verityBlock),
        ),
      );
    const whole = Buffer.concat([data, tree]);
    whole[verityBlock + 5]! ^= 1;
    expect(lax(whole, { blocks, root })).toBe(true);
    expect(() => checkVerity(whole, { blocks, root })).toThrow('GUEST_ROOT');
  });
});

/** Blocks of each level, the lowest first. */
function levels(blocks: number): readonly number[] {
  const all: number[] = [];
  for (let below = blocks; below > 1;) all.push((below = Math.ceil(below / 128)));
  return all;
}

const harness = `#include <stdio.h>
#include <stdlib.h>
#include "root.h"
int main(void) {
  unsigned char size[4];
  while (fread(size, 1, 4, stdin) == 4) {
    long length = size[0] | size[1] << 8 | size[2] << 16;
    char *text = malloc(length);
    struct root root;
    if (fread(text, 1, length, stdin) != (size_t)length) return 1;
    int found = read_root(text, length, &root);
    if (found == 1) printf("%llu:%s\\n", root.blocks, root.digest);
    else printf("%d\\n", found);
    free(text);
  }
  return 0;
}
`;

/** @returns null without a compiler */
function compiled(name: string, header: string): string | null {
  const own = join(folder, name);
  spawnSync('mkdir', [own]);
  writeFileSync(join(own, 'root.h'), header);
  writeFileSync(join(own, 'harness.c'), harness);
  const words = ['-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined', '-o', join(own, 'harness')];
  const { error, status, stderr } = spawnSync('gcc', [...words, join(own, 'harness.c')], { encoding: 'utf8' });
  if (error !== undefined) return null;
  expect([status, stderr]).toEqual([0, '']);
  return join(own, 'harness');
}

/** The rule of the command line in other words. */
function expected(line: string): string {
  const words = line.split(/[ \n]/);
  const end = words.indexOf('--');
  const own = (end < 0 ? words : words.slice(0, end)).filter((word) => word.startsWith('veritrain.root='));
  if (own.length === 0) return '0';
  const [, value] = /^veritrain\.root=([1-9]\d{0,9}:[0-9a-f]{64})$/.exec(own[0]!) ?? [];
  return own.length === 1 && value !== undefined ? value : '-1';
}

function lines(): readonly string[] {
  let state = 20_261_126;
  const next = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const digest = '0123456789abcdef'.repeat(4);
  const word = `veritrain.root=12345:${digest}`;
  const seeds = [`console=ttyS0 quiet ${word}\n`, `${word} rdinit=/init`, word, `rdinit=/init -- ${word}\n`];
  const pieces = [
    ' ',
    '\n',
    '--',
    ' -- ',
    '\0',
    '0',
    ':',
    word,
    ` ${word}`,
    'veritrain.root=',
    'A',
    'g',
    '9'.repeat(12),
  ];
  return Array.from({ length: 10_000 }, (_, index) => {
    let line = seeds[index % seeds.length]!;
    for (let change = next(4); change > 0; change--) {
      const [at, to] = [next(line.length + 1), next(line.length + 1)];
      line = line.slice(0, at) + pieces[next(pieces.length)]! + line.slice(next(3) === 0 ? to : at + next(2));
    }
    return line;
  });
}

function readBy(program: string, all: readonly string[]) {
  const input = all.map((line) =>
    Buffer.concat([Buffer.from(Uint32Array.of(line.length).buffer), Buffer.from(line, 'latin1')]),
  );
  const { status, stdout, stderr } = spawnSync(program, {
    ...{ input: Buffer.concat(input), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  });
  return { status, stderr, found: stdout.trim().split('\n') };
}

const header = readFileSync(join(guestFolder, 'root.h'), 'utf8');
const program = compiled('own', header);

describe.skipIf(program === null)('the first process’s reader of boot arguments', () => {
  it('finds what the rule finds on 10,000 mutants, and reads nothing beyond the line', () => {
    const all = lines();
    const { status, stderr, found } = readBy(program!, all);
    expect([status, stderr]).toEqual([0, '']);
    expect(found.filter((line) => line.includes(':')).length).toBeGreaterThan(1000);
    expect(found).toEqual(all.map(expected));
  });

  it('is the same as the builder’s on lines of one root', () => {
    for (const line of lines()
      .filter((each) => !/[\n\0]|--/.test(each))
      .slice(0, 500)) {
      const root = rootOf(line);
      expect(root === undefined ? expected(line).includes(':') : `${root.blocks}:${root.root}`).toBe(
        root === undefined ? false : expected(line),
      );
    }
  });

  it.each([
    ['reads on beyond the line', 'end - at != 1 + root_digest ||', 'end - at < 0 ||'],
    ['takes the first of two', 'if (found || ', 'if (found) continue;\n    if ('],
    ['takes words of the first process', "if (size == 2 && word[0] == '-'", "if (size == 3 && word[0] == '-'"],
  ])('that %s is found', (_, check, without) => {
    expect(header).toContain(check);
    const all = lines();
    const { status, found } = readBy(
      compiled(without.slice(0, 8).replace(/\W/g, '-'), header.replace(check, without))!,
      all,
    );
    expect(status === 0 && JSON.stringify(found) === JSON.stringify(all.map(expected))).toBe(false);
  });
});
