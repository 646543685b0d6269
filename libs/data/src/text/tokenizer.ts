/** Text to token ids and back: by a tokenizer.json of Hugging Face, or by single characters. */
import { createHash } from 'node:crypto';
import { Tokenizer } from '@huggingface/tokenizers';
import { refuseData } from '../errors.js';
import * as limits from '../limits.js';
import { withTimeLimit } from './time-limit.js';

export interface TextTokenizer {
  readonly name: string;
  /** SHA-256 of `bytes`, 0x and 64 digits. */
  readonly sha256: string;
  /** The tokenizer's file, which travels with a model. */
  readonly bytes: Uint8Array;
  /** Ids are below it. */
  readonly vocab: number;
  /** Stands between documents. */
  readonly end: number;
  encode(text: string): readonly number[];
  decode(ids: readonly number[]): string;
}

const format = 'veritrain/characters/1';
/** Ids of the end of text and of a character that the file does not list; its characters follow. */
const [endId, unknownId, firstId] = [0, 1, 2];
const ends = ['<|endoftext|>', '<|end_of_text|>', '</s>', '<eos>', '<|im_end|>', '[SEP]'];

/** @throws DataError DATA_TOKENIZER, DATA_LIMIT */
export function readTokenizer(bytes: Uint8Array, file: string): TextTokenizer {
  if (bytes.length > limits.tokenizerBytesMax) {
    refuseData(
      'DATA_LIMIT',
      { file },
      {
        expected: `at most ${limits.tokenizerBytesMax} bytes`,
        got: bytes.length,
        action: 'give a tokenizer.json',
      },
    );
  }
  const json = jsonOf(bytes, file);
  const sha256 = `0x${createHash('sha256').update(bytes).digest('hex')}`;
  const own = { sha256, bytes };
  if (json['format'] === format) return { ...own, name: 'characters', ...charactersOf(json['characters'], file) };
  return { ...own, name: file.slice(0, 256), ...pieces(json, file) };
}

/** @param characters different code points */
export function charactersFile(characters: Iterable<string>): Uint8Array {
  const sorted = [...characters].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
  return Buffer.from(`${JSON.stringify({ format, characters: sorted.join('') })}\n`);
}

type Coder = Pick<TextTokenizer, 'vocab' | 'end' | 'encode' | 'decode'>;

function charactersOf(value: unknown, file: string): Coder {
  const characters = typeof value === 'string' ? [...value] : [];
  const ids = new Map(characters.map((character, index) => [character, index + firstId]));
  const isSound = characters.length >= 1 && ids.size === characters.length && !/\p{Surrogate}/u.test(String(value));
  if (!isSound || characters.length + firstId > 2 ** 20) refuseTokenizer(file, 'different characters', value);
  return {
    ...{ vocab: characters.length + firstId, end: endId },
    encode: (text) => Array.from(text, (character) => ids.get(character) ?? unknownId),
    decode: (tokens) => tokens.map((id) => characters[id - firstId] ?? (id === endId ? '' : '\ufffd')).join(''),
  };
}

function pieces(json: Record<string, unknown>, file: string): Coder {
  const guarded = <T>(act: () => T): T => {
    try {
      return withTimeLimit(limits.tokenizerMilliseconds, act);
    } catch (error) {
      return refuseTokenizer(file, 'a tokenizer.json that can be run', error instanceof Error ? error.message : error);
    }
  };
  const tokenizer = guarded(() => new Tokenizer(json, {}));
  const ids = guarded(() => [...tokenizer.get_vocab(true).values()]);
  if (ids.length === 0 || !ids.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 24)) {
    refuseTokenizer(file, 'ids from 0 to 2^24', ids.length);
  }
  const vocab = ids.reduce((most, id) => Math.max(most, id), 0) + 1;
  const end = guarded(() => ends.map((text) => tokenizer.token_to_id(text)).find((id) => id !== undefined));
  if (end === undefined) return refuseTokenizer(file, `one of ${ends.join(' ')}`, 'none');
  return {
    ...{ vocab, end },
    encode(text) {
      const found = guarded(() => tokenizer.encode(text, { add_special_tokens: false }).ids);
      if (!Array.isArray(found) || !found.every((id) => Number.isInteger(id) && id >= 0 && id < vocab)) {
        refuseTokenizer(file, `an id below ${vocab} for every token`, 'text that it has none for');
      }
      return found;
    },
    decode: (tokens) => guarded(() => tokenizer.decode([...tokens])),
  };
}

function jsonOf(bytes: Uint8Array, file: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    json = null;
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Record<string, unknown>;
  return refuseTokenizer(file, 'a JSON object', 'other bytes');
}

function refuseTokenizer(file: string, expected: string, got: unknown): never {
  return refuseData(
    'DATA_TOKENIZER',
    { file },
    {
      expected,
      got,
      action: 'give a tokenizer.json, or none: characters are then the tokens',
    },
  );
}
