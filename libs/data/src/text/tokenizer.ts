/** Text to token ids and back: by a tokenizer.json of Hugging Face, or by single characters. */
import { createHash } from 'node:crypto';
import { Tokenizer } from '@huggingface/tokenizers';
import { refuseData, type Place } from '../errors.js';
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
  /**
   * @param placeOf where a code unit of the text stands, for the message
   * @throws DataError DATA_CHARACTER for text that no token stands for
   */
  encode(text: string, placeOf: (index: number) => Place): readonly number[];
  /** Different characters of a text that no token stands for, or one for all that are unknown. */
  unknown(text: string): readonly string[];
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

type Coder = Pick<TextTokenizer, 'vocab' | 'end' | 'encode' | 'unknown' | 'decode'>;

function charactersOf(value: unknown, file: string): Coder {
  const characters = typeof value === 'string' ? [...value] : [];
  const ids = new Map(characters.map((character, index) => [character, index + firstId]));
  const isSound = characters.length >= 1 && ids.size === characters.length && !/\p{Surrogate}/u.test(String(value));
  if (!isSound || characters.length + firstId > 2 ** 20) refuseTokenizer(file, 'different characters', value);
  return {
    ...{ vocab: characters.length + firstId, end: endId },
    encode: (text) => Array.from(text, (character) => ids.get(character) ?? unknownId),
    unknown: (text) => [...new Set(text)].filter((character) => !ids.has(character)),
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
  const tokenizer = guarded(() => new Tokenizer(marking(json), {}));
  const ids = guarded(() => [...tokenizer.get_vocab(true).values()]);
  if (ids.length === 0 || !ids.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 24)) {
    refuseTokenizer(file, 'ids from 0 to 2^24', ids.length);
  }
  const vocab = ids.reduce((most, id) => Math.max(most, id), 0) + 1;
  const end = guarded(() => ends.map((text) => tokenizer.token_to_id(text)).find((id) => id !== undefined));
  if (end === undefined) {
    const action = `add such a token to it, as an added or special one, for the end of a text: ${ends[0]!}`;
    return refuseTokenizer(file, `one of ${ends.join(' ')}`, 'none', action);
  }
  const idsOf = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const isId = (id: number): boolean => Number.isInteger(id) && id >= 0 && id < vocab;
  const unknown = unknownIdOf(json, (token) => guarded(() => tokenizer.token_to_id(token)));
  return {
    ...{ vocab, end },
    encode(text, placeOf) {
      const found = guarded(() => idsOf(text));
      if (found.every(isId)) return found;
      const at = guarded(() => firstOf(text, (character) => !idsOf(character).every(isId)));
      return refuseCharacter(file, placeOf(at ?? 0), at === null ? null : text.codePointAt(at)!);
    },
    unknown: (text) =>
      guarded(() =>
        [...new Set(text)].filter((character) => idsOf(character).some((id) => !isId(id) || id === unknown)),
      ),
    decode: (tokens) => guarded(() => tokenizer.decode([...tokens])),
  };
}

interface ModelPart {
  readonly type?: unknown;
  readonly unk_token?: unknown;
  readonly unk_id?: unknown;
  readonly vocab?: object;
}

function modelOf(json: Record<string, unknown>): ModelPart {
  const { model } = json;
  return typeof model === 'object' && model !== null ? model : {};
}

/**
 * The same tokenizer, but for a BPE that has no token for what it does not know: that one leaves it out without a word,
 * and here gives a token without an id for it.
 */
function marking(json: Record<string, unknown>): Record<string, unknown> {
  const model = modelOf(json);
  if (model.type !== 'BPE' || (model.unk_token ?? null) !== null) return json;
  let mark = '\ufffd';
  const text = JSON.stringify([Object.keys(model.vocab ?? {}), json['added_tokens']]);
  while (text.includes(mark)) mark += '\ufffd';
  return { ...json, model: { ...model, unk_token: mark } };
}

/** Of the token that stands for all that is unknown. */
function unknownIdOf(json: Record<string, unknown>, idOf: (token: string) => number | undefined): number | undefined {
  const { unk_token: token, unk_id: id } = modelOf(json);
  if (typeof token === 'string') return idOf(token);
  return typeof id === 'number' ? id : undefined;
}

/** Index of the first character that is such a one. */
function firstOf(text: string, is: (character: string) => boolean): number | null {
  const tried = new Map<string, boolean>();
  let at = 0;
  for (const character of text) {
    const found = tried.get(character) ?? is(character);
    if (found) return at;
    tried.set(character, found);
    at += character.length;
  }
  return null;
}

/** A character by its number in Unicode, and as it is where it can be seen. */
export function characterText(character: string): string {
  const number = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  return /[\p{C}\p{Z}]/u.test(character) ? number : `"${character}" (${number})`;
}

function refuseCharacter(file: string, place: Place, point: number | null): never {
  return refuseData('DATA_CHARACTER', place, {
    expected: `text that ${file} has a token for`,
    got: point === null ? 'text that it has none for' : characterText(String.fromCodePoint(point)),
    action: 'take it out of the text, or give a tokenizer that knows it, such as one of bytes',
  });
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

const tokenizerAction = 'give a tokenizer.json, or none: characters are then the tokens';

function refuseTokenizer(file: string, expected: string, got: unknown, action = tokenizerAction): never {
  return refuseData('DATA_TOKENIZER', { file }, { expected, got, action });
}
