/** Lines of a UTF-8 file, in chunks, each with the byte behind it. */
import { createReadStream } from 'node:fs';
import { refuseData } from '../errors.js';
import * as limits from '../limits.js';

interface Lines {
  readonly lines: readonly string[];
  /** Behind the last of them. */
  readonly byte: number;
  /** false: the file ends without a line break. */
  readonly isWhole: boolean;
}

/** Nobody sees it; before the first line it is no text. */
const byteOrderMark = Buffer.from('\ufeff');
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param row of the first line, for messages @throws DataError DATA_ENCODING, DATA_LIMIT */
export async function* linesOf(path: string, file: string, from: number, row: number): AsyncIterable<Lines> {
  let rest: Buffer = Buffer.alloc(0);
  let at = from;
  let next = row;
  for await (const chunk of createReadStream(path, { start: from }) as AsyncIterable<Buffer>) {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (at === 0 && bytes.indexOf(byteOrderMark) === 0) {
      at = byteOrderMark.length;
      bytes = bytes.subarray(at);
    }
    const end = bytes.lastIndexOf(10) + 1;
    if (bytes.length - end > limits.rowCharactersMax) {
      refuseData(
        'DATA_LIMIT',
        { file, row: next },
        {
          expected: `lines of at most ${limits.rowCharactersMax} bytes`,
          got: 'a longer one',
          action: 'cut the line',
        },
      );
    }
    rest = bytes.subarray(end);
    if (end === 0) continue;
    at += end;
    const lines = decoded(bytes.subarray(0, end - 1), file, next).split('\n');
    yield { lines, byte: at, isWhole: true };
    next += lines.length;
  }
  if (rest.length > 0) yield { lines: [decoded(rest, file, next)], byte: at + rest.length, isWhole: false };
}

function decoded(bytes: Uint8Array, file: string, row: number): string {
  try {
    return strict.decode(bytes);
  } catch {
    return refuseData(
      'DATA_ENCODING',
      { file, row },
      {
        expected: 'UTF-8 text (from this row on)',
        got: 'bytes that are none',
        action: 'save the file as UTF-8',
      },
    );
  }
}
