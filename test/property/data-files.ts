/** Genuine files of every format that users bring, and how a reader is pointed to one. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { utf8 } from '#attestation/base';
import type { openSource } from '#libs/data';

type SourceOptions = Parameters<typeof openSource>[1];

export interface Format {
  readonly files: readonly Uint8Array[];
  /** Where a mutant is put, below the folder. */
  readonly path: string;
  /** What stands beside it, by path. */
  readonly beside?: Readonly<Record<string, string>>;
  /** File or folder that is opened. */
  readonly opened: string;
  readonly options?: (folder: string) => SourceOptions;
  /** Makes checksums right again, so that what lies behind them is reached. */
  readonly mend?: (mutant: Uint8Array) => Uint8Array;
}

const rows = 60;
const numbers = Array.from({ length: rows }, (_, i) => (i * 37) % 101);

function png(colorType: 0 | 2 | 4 | 6, bitDepth: 8 | 16, side: number): Uint8Array {
  const picture = new PNG({ width: side, height: side });
  for (let i = 0; i < picture.data.length; i++) picture.data[i] = (i * 29) % 256;
  return new Uint8Array(PNG.sync.write(picture, { colorType, bitDepth }));
}

/** Each chunk's CRC over its type and data (PNG, third edition, §5.3), as far as chunks can be followed. */
function withChecksums(mutant: Uint8Array): Uint8Array {
  const bytes = Buffer.from(mutant);
  for (let at = 8; at + 12 <= bytes.length;) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (end + 4 > bytes.length) break;
    bytes.writeUInt32BE(crc32(bytes.subarray(at + 4, end)), end);
    at = end + 4;
  }
  return new Uint8Array(bytes);
}

function jpg(side: number, quality: number): Uint8Array {
  const data = Buffer.from(Array.from({ length: 4 * side * side }, (_, i) => (i * 29) % 256));
  return new Uint8Array(jpeg.encode({ data, width: side, height: side }, quality).data);
}

/** Version 1.0 of NumPy's format: a header of 118 bytes, then the entries. */
function npy(descr: string, shape: string, entries: Uint8Array): Uint8Array {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117);
  return Buffer.concat([Buffer.from([0x93, ...utf8('NUMPY'), 1, 0, 118, 0]), Buffer.from(`${header}\n`), entries]);
}

function idx(type: number, sides: readonly number[]): Uint8Array {
  const head = Buffer.alloc(4 + 4 * sides.length);
  head.writeUInt8(type, 2);
  head.writeUInt8(sides.length, 3);
  for (const [k, side] of sides.entries()) head.writeUInt32BE(side, 4 + 4 * k);
  const size = sides.reduce((product, side) => product * side, 1);
  return Buffer.concat([head, Uint8Array.from({ length: size }, (_, i) => i % 5)]);
}

const parquetColumns = [
  { name: 'price', data: numbers.map((x) => x / 4), type: 'DOUBLE' as const },
  { name: 'size', data: numbers.map((x) => (x % 9 === 4 ? null : BigInt(x))), type: 'INT64' as const },
  { name: 'color', data: numbers.map((x) => ['red', 'blue', 'green'][x % 3]!), type: 'STRING' as const },
  { name: 'isNew', data: numbers.map((x) => x % 2 === 0), type: 'BOOLEAN' as const },
];

const tokenizer = (preTokenizer: unknown, model: unknown): Uint8Array =>
  utf8(
    JSON.stringify({
      version: '1.0',
      added_tokens: [{ id: 5, content: '<|endoftext|>', special: true, normalized: false }],
      normalizer: { type: 'Lowercase' },
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: null,
      model,
    }),
  );

const vocab = { a: 0, b: 1, c: 2, d: 3, '[UNK]': 4, '<|endoftext|>': 5 };
const split = {
  type: 'Split',
  pattern: { Regex: String.raw`'(?:[sdmt]|ll|ve|re)|\p{L}+|\s+(?!\S)|\s+` },
  behavior: 'Isolated',
};

export const dataFormats = {
  csv: {
    files: [
      utf8(`x,"y ""z""",color\n${numbers.map((x) => `${x / 4},"${x}",${x % 2 === 0 ? 'red' : 'blue'}`).join('\n')}\n`),
      utf8(`a;b;c\r\n${numbers.map((x) => `${x};;NA`).join('\r\n')}`),
    ],
    path: 'data.csv',
    opened: 'data.csv',
  },
  jsonl: {
    files: [utf8(numbers.map((x) => JSON.stringify({ x: x / 4, color: x % 2 === 0 ? 'red' : null })).join('\n'))],
    path: 'data.jsonl',
    opened: 'data.jsonl',
  },
  parquet: {
    files: (['SNAPPY', 'UNCOMPRESSED'] as const).map(
      (codec) => new Uint8Array(parquetWriteBuffer({ columnData: parquetColumns, codec, rowGroupSize: 40 })),
    ),
    path: 'data.parquet',
    opened: 'data.parquet',
  },
  npy: {
    files: [
      npy('<f8', '(12, 3)', new Uint8Array(Float64Array.from({ length: 36 }, (_, i) => i / 7).buffer)),
      npy(
        '|u1',
        '(12, 3, 2)',
        Uint8Array.from({ length: 72 }, (_, i) => i),
      ),
      npy('<i4', '(12,)', new Uint8Array(Int32Array.from({ length: 12 }, (_, i) => i - 6).buffer)),
    ],
    path: 'data.npy',
    opened: 'data.npy',
  },
  idx: {
    files: [idx(8, [12, 4, 4])],
    path: 'data.idx',
    beside: { 'labels.idx': Buffer.from(idx(8, [12])).toString('latin1') },
    opened: 'data.idx',
    options: (folder) => ({ labels: join(folder, 'labels.idx') }),
  },
  png: {
    files: [png(2, 8, 9), png(0, 8, 16), png(6, 8, 5), png(4, 16, 4)],
    path: 'pictures/a/x.png',
    opened: 'pictures',
    mend: withChecksums,
  },
  jpeg: { files: [jpg(16, 90), jpg(9, 20)], path: 'pictures/a/x.jpg', opened: 'pictures' },
  tokenizer: {
    files: [
      tokenizer(
        { type: 'Whitespace' },
        {
          type: 'WordPiece',
          continuing_subword_prefix: '##',
          max_input_chars_per_word: 100,
          vocab,
          unk_token: '[UNK]',
        },
      ),
      tokenizer(
        { type: 'Sequence', pretokenizers: [split, { type: 'ByteLevel', add_prefix_space: false, use_regex: false }] },
        {
          type: 'BPE',
          vocab: { ...vocab, ab: 6, abc: 7 },
          merges: ['a b', 'ab c'],
          unk_token: '[UNK]',
          fuse_unk: false,
        },
      ),
    ],
    path: 'tokenizer.json',
    beside: { 'text.txt': `${'abc a bad cab, a b c ll don’t  \n'.repeat(20)}` },
    opened: 'text.txt',
    options: (folder) => ({ tokens: 4, tokenizer: join(folder, 'tokenizer.json') }),
  },
} as const satisfies Record<string, Format>;

export type DataFormat = keyof typeof dataFormats;

/** Puts the bytes where the reader of the format looks; what is to be opened. */
export async function putData(format: Format, folder: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, format.path);
  await mkdir(dirname(path), { recursive: true });
  for (const [name, text] of Object.entries(format.beside ?? {})) {
    await writeFile(join(folder, name), Buffer.from(text, name.endsWith('.idx') ? 'latin1' : 'utf8'));
  }
  await writeFile(path, bytes);
  return join(folder, format.opened);
}
