/** Reader of text as records of tokens: documents joined by the end-of-text id, cut in windows of T+1 with stride T. */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { optionValue, refuseChoice, refuseData, type Place } from '../errors.js';
import * as limits from '../limits.js';
import { start, type Cell, type DataSource } from '../source.js';
import { charactersFile, readTokenizer, type TextTokenizer } from '../text/tokenizer.js';
import { memberOf, objectOf } from './jsonl.js';
import { linesOf } from './lines.js';

export interface TextOptions {
  /** T: tokens that a record's features hold. */
  readonly tokens?: number;
  /** Path of a tokenizer's file; absent: the characters that occur. */
  readonly tokenizer?: string;
  /** JSON lines: the member that holds a document's text. */
  readonly textField?: string;
}

const tokensDefault = 128;

/** @throws DataError DATA_TOKENIZER, DATA_EMPTY, DATA_ENCODING, DATA_JSON, DATA_CELL, DATA_CHARACTER, DATA_LIMIT; ConfigurationError DATA_CHOICE */
export async function openText(path: string, options: TextOptions = {}): Promise<DataSource> {
  const { size, mtimeMs } = await stat(path);
  const file = basename(path);
  const window = options.tokens ?? tokensDefault;
  if (!Number.isInteger(window) || window < 1 || window > limits.windowMax) {
    refuseChoice('DATA_CHOICE', `1 to ${limits.windowMax} tokens a record`, window, 'choose 128');
  }
  const { textField } = options;
  const tokenizer = await tokenizerOf(path, file, options);
  let left = 0;
  return {
    ...{ kind: 'text', file, bytes: size, tokenizer },
    fingerprint: `${path} ${size} ${mtimeMs} ${window} ${textField ?? ''} ${tokenizer.sha256}`,
    columns: [{ name: textField ?? 'text', tensor: { kind: 'tokens', dtype: 'uint32', shape: [window + 1] } }],
    notes: () => (left === 0 ? [] : [`${left} tokens at the end fill no record`]),
    // Where a record begins inside a document no byte says: text that was read is cut again, and passed over.
    async *rows(from = start) {
      let tokens: number[] = [];
      let row = 0;
      for await (const { text, placeOf, isEnd, byte } of piecesOf(path, file, textField)) {
        for (const id of tokenizer.encode(text, placeOf)) tokens.push(id);
        if (isEnd) tokens.push(tokenizer.end);
        const rows: Cell[][] = [];
        let at = 0;
        for (; at + window < tokens.length; at += window) {
          rows.push([Uint32Array.from(tokens.slice(at, at + window + 1))]);
        }
        tokens = tokens.slice(at);
        const first = Math.max(row, from.row);
        const fresh = rows.slice(first - row);
        row += rows.length;
        if (fresh.length > 0) yield { rows: fresh, first: first + 1, next: { row, byte } };
      }
      left = row === 0 ? tokens.length : tokens.length - 1;
      if (row > 0) return;
      refuseData(
        'DATA_EMPTY',
        { file },
        {
          expected: `at least ${window + 1} tokens`,
          got: tokens.length,
          action: 'give more text, or shorter records',
        },
      );
    },
  };
}

interface Piece {
  readonly text: string;
  /** Where a code unit of it stands; rows are lines. */
  placeOf(index: number): Place;
  /** A document ends here, and another follows. */
  readonly isEnd: boolean;
  readonly byte: number;
}

/** A file of plain text is one document, read in pieces that end with a line. */
async function* piecesOf(path: string, file: string, field: string | undefined): AsyncIterable<Piece> {
  let row = 1;
  for await (const { lines, byte, isWhole } of linesOf(path, file, 0, 1)) {
    if (field === undefined) {
      const [first, text] = [row, isWhole ? `${lines.join('\n')}\n` : lines.join('\n')];
      const placeOf = (index: number): Place => ({ file, row: first + text.slice(0, index).split('\n').length - 1 });
      yield { text, placeOf, isEnd: false, byte };
    } else {
      for (const [index, line] of lines.entries()) {
        if (line.trim() === '') continue;
        const place = { file, row: row + index, column: field };
        const object = objectOf(line, { file, row: place.row });
        const text = memberOf(object, field);
        if (typeof text !== 'string') refuseMember(object, text, place);
        yield { text, placeOf: () => place, isEnd: true, byte };
      }
    }
    row += lines.length;
  }
}

function refuseMember(object: Readonly<Record<string, unknown>>, found: unknown, place: Place): never {
  const texts = Object.keys(object).filter((name) => typeof object[name] === 'string');
  const option = `--text-field ${texts.length === 1 ? optionValue(texts[0]!) : 'NAME'}`;
  const others = texts.length > 1 ? `, one of ${texts.slice(0, 20).join(', ')}` : '';
  const [got, action] =
    found === undefined
      ? ['nothing', `mend the line, or name the member that holds the text (${option}${others})`]
      : [typeof found, 'mend the line'];
  return refuseData('DATA_CELL', place, { expected: 'text', got, action });
}

async function tokenizerOf(path: string, file: string, { tokenizer, textField }: TextOptions): Promise<TextTokenizer> {
  if (tokenizer !== undefined) {
    const found = await stat(tokenizer).catch(() => null);
    if (found === null || found.size > limits.tokenizerBytesMax) {
      const got = found === null ? 'nothing there' : `${found.size} bytes`;
      const expected = `a tokenizer of at most ${limits.tokenizerBytesMax} bytes at ${tokenizer}`;
      refuseChoice('DATA_FILE', expected, got, 'check the path (--tokenizer)');
    }
    return readTokenizer(await readFile(tokenizer), basename(tokenizer));
  }
  const characters = new Set<string>();
  for await (const { text } of piecesOf(path, file, textField)) for (const character of text) characters.add(character);
  if (characters.size === 0) {
    refuseData('DATA_EMPTY', { file }, { expected: 'text', got: 'none', action: 'give a file with text' });
  }
  return readTokenizer(charactersFile(characters), 'characters.json');
}
