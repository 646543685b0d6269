/** Reader of IDX, the format of MNIST: a file of pictures and a file of labels, bytes alone. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { refuseChoice, refuseData } from '../errors.js';
import * as limits from '../limits.js';
import type { DataSource } from '../source.js';
import { arraySource, type StoredArray } from './arrays.js';

/**
 * @param labels path of the labels; absent: the name of the pictures with `labels` and `idx1` in it
 * @param hasLabels false: nobody asks for them
 * @throws DataError DATA_IDX, DATA_TRUNCATED; ConfigurationError DATA_FILE
 */
export async function openIdx(path: string, labels?: string, hasLabels = true): Promise<DataSource> {
  const images = await stored(path, 'image', [3, 4]);
  const about = { kind: 'idx', file: basename(path) } as const;
  if (!hasLabels) return arraySource({ ...about, bytes: images.size, fingerprint: images.fingerprint }, [images]);
  const guessed = path.replace(/images(?=[^/]*$)/, 'labels').replace(/idx3(?=[^/]*$)/, 'idx1');
  const labelPath = labels ?? (guessed === path ? undefined : guessed);
  if (labelPath === undefined) refuseChoice('DATA_FILE', `the file of labels of ${basename(path)}`, 'none', 'name it');
  const classes = await stored(labelPath, 'label', [1]);
  const bytes = images.size + classes.size;
  const fingerprint = `${images.fingerprint} ${classes.fingerprint}`;
  return arraySource({ ...about, bytes, fingerprint }, [images, classes]);
}

async function stored(
  path: string,
  name: string,
  ranks: readonly number[],
): Promise<StoredArray & { size: number; fingerprint: string }> {
  const file = basename(path);
  const found = await stat(path).catch(() => null);
  if (found === null) refuseChoice('DATA_FILE', `the file of ${name}s`, path, 'name it');
  const handle = await open(path);
  const head = Buffer.alloc(20);
  try {
    await handle.read(head, 0, head.length, 0);
  } finally {
    await handle.close();
  }
  const rank = head[3]!;
  if (head.readUInt16BE(0) !== 0 || head[2] !== 8 || !ranks.includes(rank)) {
    refuseData(
      'DATA_IDX',
      { file },
      {
        expected: `unsigned bytes of ${ranks.join(' or ')} axes`,
        got: `0x${head.toString('hex', 0, 4)}`,
        action: 'give pictures first, then their labels; a packed file must be unpacked',
      },
    );
  }
  const sides = Array.from({ length: rank }, (_, index) => head.readUInt32BE(4 + 4 * index));
  const rowBytes = sides.slice(1).reduce((product, side) => product * side, 1);
  if (sides.some((side) => side < 1) || rowBytes > limits.recordBytesMax || sides[0]! > limits.rowsMax) {
    refuseData(
      'DATA_IDX',
      { file },
      { expected: 'sides within the limits', got: sides.join(), action: 'give other data' },
    );
  }
  const dataStart = 4 + 4 * rank;
  if (found.size !== dataStart + rowBytes * sides[0]!) {
    refuseData(
      'DATA_TRUNCATED',
      { file },
      {
        expected: `${dataStart + rowBytes * sides[0]!} bytes`,
        got: found.size,
        action: 'get the file again',
      },
    );
  }
  // Pictures have a side of channels.
  const shape = rank === 3 ? [...sides, 1] : sides;
  return {
    ...{ name, type: 'u1', shape, size: found.size, fingerprint: `${path} ${found.size} ${found.mtimeMs}` },
    open: (row) => createReadStream(path, { start: dataStart + row * rowBytes }),
  };
}
