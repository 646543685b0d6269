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
  // Of a line whose end has not come; joined once, for a long line has many.
  let rest: Buffer[] = [];
  let at = from;
  let next = row;
  const joined = (last: Buffer): Buffer => {
    const bytes = rest.length === 0 ? last : Buffer.concat([...rest, last]);
    if (at > 0 || bytes.indexOf(byteOrderMark) !== 0) return bytes;
    at = byteOrderMark.length;
    return bytes.subarray(at);
  };
  let held = 0;
  for await (const chunk of createReadStream(path, { start: from }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(10) + 1;
    const whole = end === 0 ? null : joined(chunk.subarray(0, end));
    if (end > 0) [rest, held] = [[], 0];
    if (end < chunk.length) rest.push(chunk.subarray(end));
    held += chunk.length - end;
    if (held > limits.rowCharactersMax) {
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
    if (whole === null) continue;
    at += whole.length;
    const lines = decoded(whole.subarray(0, -1), file, next).split('\n');
    yield { lines, byte: at, isWhole: true };
    next += lines.length;
  }
  const last = joined(Buffer.alloc(0));
  if (last.length > 0) yield { lines: [decoded(last, file, next)], byte: at + last.length, isWhole: false };
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
