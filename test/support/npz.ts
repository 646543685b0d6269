/** Archives of arrays as numpy.savez writes them. */
import { crc32 } from 'node:zlib';

interface TestArray {
  /** NumPy's `descr`. */
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

function npyOf({ type, shape, bytes }: TestArray): Buffer {
  const sides = shape.map((side) => `${side},`).join(' ');
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sides}), }\n`;
  const head = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, text.length & 255, text.length >> 8]);
  return Buffer.concat([head, Buffer.from(text), bytes]);
}

export function savez(arrays: Readonly<Record<string, TestArray>>): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, array] of Object.entries(arrays)) {
    const [file, content] = [Buffer.from(`${name}.npy`), npyOf(array)];
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt32LE(crc32(content), 14);
    local.writeUInt32LE(content.length, 18);
    local.writeUInt32LE(content.length, 22);
    local.writeUInt16LE(file.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt32LE(crc32(content), 16);
    entry.writeUInt32LE(content.length, 20);
    entry.writeUInt32LE(content.length, 24);
    entry.writeUInt16LE(file.length, 28);
    entry.writeUInt32LE(offset, 42);
    files.push(local, file, content);
    directory.push(entry, file);
    offset += local.length + file.length + content.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(directory.length / 2, 8);
  end.writeUInt16LE(directory.length / 2, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, listed, end]);
}
