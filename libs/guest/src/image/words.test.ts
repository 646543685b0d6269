/** The first process's readers of argument and module lists, built for this machine, against the rule, on 10,000 mutants. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { guestFolder } from './lock.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-words-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const wordsMost = 32;
/** Reads `u32 length ‖ text` again and again; prints the count of words and a digit for each: whether it is a plain path. */
const harness = `#include <stdio.h>
#include <stdlib.h>
#include "words.h"
int main(void) {
  unsigned char size[4];
  while (fread(size, 1, 4, stdin) == 4) {
    long length = size[0] | size[1] << 8 | size[2] << 16;
    char *text = malloc(length + 1), *words[${wordsMost}];
    if (fread(text, 1, length, stdin) != (size_t)length) return 1;
    int count = read_words(text, length, words, ${wordsMost});
    printf("%d", count);
    for (int index = 0; index < count; index++) printf(" %d", is_plain_path(words[index]));
    printf("\\n");
    free(text);
  }
  return 0;
}
`;

function compiled(): string | null {
  const [source, program] = [join(folder, 'harness.c'), join(folder, 'harness')];
  writeFileSync(source, harness);
  const words = [
    '-Wall',
    '-Wextra',
    '-Werror',
    '-fsanitize=address,undefined',
    `-I${guestFolder}`,
    '-o',
    program,
    source,
  ];
  const { error, status, stderr } = spawnSync('gcc', words, { encoding: 'utf8' });
  if (error !== undefined) return null;
  expect([status, stderr]).toEqual([0, '']);
  return program;
}

const isPlain = (word: string): boolean => /^(\/(?!\.{0,2}(\/|$))[^/]+)+$/.test(word);

function expected(text: Buffer): string {
  const words = text.toString('latin1').split('\n');
  const isWhole = words.pop() === '' && words.length > 0 && words.length <= wordsMost;
  if (!isWhole || !words.every((word) => /^[\x20-\x7e]+$/.test(word))) return '-1';
  return [words.length, ...words.map((word) => (isPlain(word) ? 1 : 0))].join(' ');
}

/** xorshift32: the same mutants every time. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield state >>> 0;
  }
}

const program = compiled();

it.skipIf(program === null)('count words and plain paths as the rule does, and read nothing beyond the text', () => {
  const random = numbers(20_261_124);
  const next = (below: number): number => random.next().value % below;
  const seeds = ['argv.cpu', 'argv.dev', 'modules.cpu'].map((name) => readFileSync(join(guestFolder, name)));
  const pieces = ['\n', '\0', '/', '..', '.', '//', ' ', '\n\n', '\x7f', 'é', 'x\n'.repeat(40)].map((piece) =>
    Buffer.from(piece),
  );
  const mutants = Array.from({ length: 10_000 }, (_, index) => {
    let text: Buffer = seeds[index % seeds.length]!;
    for (let change = next(4); change >= 0; change--) {
      const [at, to] = [next(text.length + 1), next(text.length + 1)];
      const piece = pieces[next(pieces.length)]!;
      text = Buffer.concat([text.subarray(0, at), piece, text.subarray(next(3) === 0 ? to : at)]);
    }
    return text;
  });
  const input = mutants.map((text) => Buffer.concat([Buffer.from(Uint32Array.of(text.length).buffer), text]));
  const ran = spawnSync(program!, { input: Buffer.concat(input), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  const found = ran.stdout.trim().split('\n');
  expect(found.filter((line) => line !== '-1').length).toBeGreaterThan(1000);
  expect(found).toEqual(mutants.map(expected));
});
