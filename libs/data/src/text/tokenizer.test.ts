/** What a tokenizer has no token for is refused, not left out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openSource, readTokenizer } from '../index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-tokenizer-'));
afterAll(() => rmSync(folder, { recursive: true }));

function put(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const special = { special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };

function bpe(tokens: readonly string[], more: object = {}, pre: object = { type: 'Whitespace' }): Buffer {
  const vocab = Object.fromEntries([...tokens, '</s>'].map((token, id) => [token, id]));
  const json = {
    ...{ version: '1.0', normalizer: null, pre_tokenizer: pre, post_processor: null, decoder: null },
    added_tokens: [{ id: tokens.length, content: '</s>', ...special }],
    model: { type: 'BPE', unk_token: null, vocab, merges: ['a b'], ...more },
  };
  return Buffer.from(JSON.stringify(json));
}

const nowhere = () => ({ file: 'nowhere' });
const plain = bpe(['a', 'b', 'ab', 'c']);

async function tokensOf(path: string, options: object): Promise<number[]> {
  const source = await openSource(path, { tokens: 2, tokenizer: put('tokenizer.json', plain), ...options });
  const found: number[] = [];
  for await (const { rows } of source.rows()) for (const [cell] of rows) found.push(...(cell as Uint32Array));
  return found;
}

it('refuses a character that a BPE without an unknown token would leave out, by line', async () => {
  expect(await tokensOf(put('known.txt', 'ab c ab\nc'), {})).toEqual([2, 3, 2]);
  await expect(tokensOf(put('strange.txt', 'ab c\nab\nc a☕b d\n'), {})).rejects.toMatchObject({
    ...{ code: 'DATA_CHARACTER', place: { file: 'strange.txt', row: 3 } },
    detail: {
      expected: 'text that tokenizer.json has a token for in row 3 of strange.txt',
      got: '"☕" (U+2615)',
    },
  });
  const lines = put('strange.jsonl', '{"body":"ab c"}\n\n{"body":"ab d"}\n');
  await expect(tokensOf(lines, { textField: 'body' })).rejects.toMatchObject({
    ...{ code: 'DATA_CHARACTER', place: { file: 'strange.jsonl', row: 3, column: 'body' } },
    detail: { got: '"d" (U+0064)' },
  });
});

it('says what a tokenizer without a token for the end of a text needs', () => {
  const json = {
    ...{ version: '1.0', added_tokens: [], normalizer: null, pre_tokenizer: { type: 'Whitespace' } },
    ...{ post_processor: null, decoder: null },
    model: { type: 'WordLevel', vocab: { a: 0, '[UNK]': 1 }, unk_token: '[UNK]' },
  };
  expect(() => readTokenizer(Buffer.from(JSON.stringify(json)), 'words.json')).toThrow(
    expect.objectContaining({
      code: 'DATA_TOKENIZER',
      detail: expect.objectContaining({
        action: expect.stringMatching(/^add such a token to it/) as unknown,
      }) as unknown,
    }),
  );
});

it('tells what a tokenizer does not know, whether it refuses it or has a token for it', () => {
  const refusing = readTokenizer(plain, 'tokenizer.json');
  const naming = readTokenizer(bpe(['a', '?'], { unk_token: '?', merges: [] }), 'tokenizer.json');
  expect(refusing.unknown('a☕ dab')).toEqual(['☕', 'd']);
  expect(naming.unknown('ab a')).toEqual(['b']);
  expect(naming.encode('ab a', nowhere)).toEqual([0, 1, 0]);
  expect(() => refusing.encode('a☕', nowhere)).toThrow(expect.objectContaining({ code: 'DATA_CHARACTER' }));
});

it('takes any text by bytes, and refuses where one of them is missing', () => {
  const printable = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const shown = [...printable(0x21, 0x7e), ...printable(0xa1, 0xac), ...printable(0xae, 0xff)];
  const others = Array.from({ length: 256 - shown.length }, (_, i) => 256 + i);
  const bytes = [...shown, ...others].map((point) => String.fromCodePoint(point));
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  const whole = readTokenizer(bpe(bytes, { merges: [] }, level), 'tokenizer.json');
  expect(whole.unknown('a ☕\n')).toEqual([]);
  expect(whole.encode('☕', nowhere)).toHaveLength(3);
  const partial = readTokenizer(bpe(bytes.slice(0, 94), { merges: [] }, level), 'tokenizer.json');
  expect(() => partial.encode('a☕', nowhere)).toThrow(expect.objectContaining({ code: 'DATA_CHARACTER' }));
});
