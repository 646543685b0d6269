/** Records of one length, read from files as often as needed: no data set is ever in memory as a whole. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { ConfigurationError, Rejection } from '#attestation/base';
import { checkLabels, idxImagesHeadBytes, parseIdxImagesHead, parseIdxLabels, shuffledIndices } from '#libs/step';
import { readBytes } from '../files/files.js';
import { idxBytesMax } from '../limits.js';

/** In the order in which they are sealed. */
export interface RecordSource {
  readonly count: number;
  readonly recordBytes: number;
  /** Tells these records from others, or from themselves after a change. */
  readonly fingerprint: string;
  /** `count` records from record `from` on, in memory that the next reading uses again. */
  read(from: number, count: number): Promise<Uint8Array>;
  close(): void;
}

export interface IdxRecords extends RecordSource {
  /** Bytes of an image; a record has its label besides. */
  readonly pixels: number;
}

/**
 * Images and labels in the order of the data owner's shuffle (libs/step/SPEC.md §9).
 *
 * @throws Rejection IDX_*, LABEL_RANGE, RECORDS_COUNT; ConfigurationError FILE_*
 */
export function idxRecords(imagesPath: string, labelsPath: string, seed: string, classes: number): IdxRecords {
  const { file, bytes: fileBytes } = openFile(imagesPath, idxBytesMax);
  try {
    const head = readAt(file, imagesPath, 0, Math.min(idxImagesHeadBytes, fileBytes));
    const { count, pixels, offset } = parseIdxImagesHead(head, fileBytes);
    const labels = parseIdxLabels(readBytes(labelsPath, idxBytesMax));
    checkLabels(labels, classes);
    if (labels.length !== count) throw otherCount(count, labels.length);
    const order = shuffledIndices(seed, count);
    const recordBytes = pixels + 1;
    const memory = memoryUsedAgain();
    const read = (from: number, wanted: number): Uint8Array => {
      const records = memory(wanted * recordBytes);
      for (let i = 0; i < wanted; i++) {
        const index = order[from + i]!;
        readInto(
          file,
          imagesPath,
          offset + index * pixels,
          records.subarray(i * recordBytes, (i + 1) * recordBytes - 1),
        );
        records[(i + 1) * recordBytes - 1] = labels[index]!;
      }
      return records;
    };
    const fingerprint = `${fingerprintOf(imagesPath)} ${fingerprintOf(labelsPath)}`;
    const source = { count, pixels, recordBytes, fingerprint, close: () => closeSync(file) };
    return { ...source, read: (from, wanted) => Promise.resolve().then(() => read(from, wanted)) };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Records that stand in a file one after the other. @throws ConfigurationError FILE_* */
export function fileRecords(path: string, count: number, recordBytes: number): RecordSource {
  const { file } = openFile(path, Number.MAX_SAFE_INTEGER);
  const memory = memoryUsedAgain();
  const read = (from: number, wanted: number): Uint8Array => {
    const records = memory(wanted * recordBytes);
    readInto(file, path, from * recordBytes, records);
    return records;
  };
  return {
    ...{ count, recordBytes, fingerprint: fingerprintOf(path), close: () => closeSync(file) },
    read: (from, wanted) => Promise.resolve().then(() => read(from, wanted)),
  };
}

/** Garbage of several MiB a time is collected late. */
function memoryUsedAgain(): (length: number) => Uint8Array {
  let held = new Uint8Array();
  return (length) => {
    if (held.length < length) held = new Uint8Array(length);
    return held.subarray(0, length);
  };
}

/** Size and time of change. */
function fingerprintOf(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return `${size} ${mtimeMs}`;
}

function openFile(path: string, bytesMax: number): { file: number; bytes: number } {
  let bytes: number;
  let file: number;
  try {
    bytes = statSync(path).size;
    file = openSync(path, 'r');
  } catch (error) {
    throw unreadable(path, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
  if (bytes <= bytesMax) return { file, bytes };
  closeSync(file);
  throw new ConfigurationError('FILE_TOO_LARGE', {
    expected: `${path} of at most ${bytesMax} bytes`,
    got: `${bytes} bytes`,
    rule: 'limits of this command',
  });
}

function readAt(file: number, path: string, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  readInto(file, path, position, bytes);
  return bytes;
}

function readInto(file: number, path: string, position: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    const read = readSync(file, bytes, done, bytes.length - done, position + done);
    if (read === 0) throw unreadable(path, `an end after ${position + done} bytes`);
    done += read;
  }
}

function unreadable(path: string, got: string): ConfigurationError {
  return new ConfigurationError('FILE_UNREADABLE', {
    expected: `a readable file at ${path}`,
    got,
    rule: 'arguments of this command',
  });
}

function otherCount(images: number, labels: number): Rejection {
  return new Rejection('RECORDS_COUNT', {
    expected: `${images} labels`,
    got: `${labels}`,
    rule: 'libs/step/SPEC.md §11',
  });
}
