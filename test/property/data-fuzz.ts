/** Mutates files of data: a coded error, or rows of the shape that the source itself declares, in bounded time and memory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importData, openSource } from '#libs/data';
import { toHex } from '#attestation/base';
import { dataFormats, putData, type DataFormat, type Format } from './data-files.js';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';

type Open = typeof openSource;

/** Of the clock: files are read in other threads too, which end what takes longer. */
const millisecondsMax = 30_000;
const importEvery = 8;

/** @param open what opens a file */
export function fuzzData(
  kind: DataFormat,
  open: Open = openSource,
): (count: number, seed: number, onProgress?: OnProgress) => Promise<FuzzReport> {
  return async (count, seed, onProgress) => {
    const format: Format = dataFormats[kind];
    const { files, mend = (bytes) => bytes, options } = format;
    const folder = await mkdtemp(join(tmpdir(), 'fuzz-data-'));
    const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
      const spoiled = mutantOf(files[draw(files.length)]!, draw, files[draw(files.length)]!);
      const mutant = k % 4 === 0 ? spoiled : mend(spoiled);
      return {
        target: kind,
        input: () => toHex(mutant),
        async run() {
          const path = await putData(format, folder, mutant);
          const began = Date.now();
          const source = () => open(path, options?.(folder));
          const verdict = k % importEvery === 0 ? await imported(source, folder) : await read(source);
          const took = Date.now() - began;
          return took > millisecondsMax ? `took ${took} ms` : verdict;
        },
      };
    };
    try {
      return await fuzz(count, seed, trialOf, onProgress);
    } finally {
      await rm(folder, { recursive: true });
    }
  };
}

type Opened = () => ReturnType<Open>;

function read(open: Opened): Promise<Verdict> {
  return judged(
    async () => {
      const { columns, rows } = await open();
      for await (const batch of rows()) {
        for (const [index, row] of batch.rows.entries()) {
          const wrong = columns.findIndex(({ tensor }, column) => !isOfShape(row[column], tensor?.shape));
          if (row.length !== columns.length || wrong >= 0) return `row ${batch.first + index}, column ${wrong + 1}`;
        }
      }
      return null;
    },
    (wrong) => (wrong === null ? 'taken' : 'accepted'),
  );
}

function isOfShape(cell: unknown, shape: readonly number[] | undefined): boolean {
  if (shape === undefined) return cell === null || typeof cell === 'string' || typeof cell === 'number';
  const size = shape.reduce((product, side) => product * side, 1);
  return cell === null || (ArrayBuffer.isView(cell) && 'length' in cell && cell.length === size);
}

/** As many bytes as the header says of as many rows as the report says. */
async function imported(open: Opened, folder: string): Promise<Verdict> {
  const work = await mkdtemp(join(folder, 'work-'));
  try {
    return await judged(
      async () => {
        const { train, report } = await importData({
          ...{ source: await open(), validation: 0, seed: `0x${'5a'.repeat(32)}`, folder: work },
        });
        let bytes = 0;
        for await (const batch of train.records()) bytes += batch.bytes.length;
        return { bytes, expected: report.train * train.recordBytes };
      },
      ({ bytes, expected }) => (bytes === expected ? 'taken' : 'accepted'),
    );
  } finally {
    await rm(work, { recursive: true });
  }
}
