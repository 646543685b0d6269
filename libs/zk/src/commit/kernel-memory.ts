/** Arrays in the memory of the kernels: making them, finding them, copying in what lies elsewhere. */
import type { BaseArray, DoubleRows } from './backend.js';
import type { Memory, Offset } from './kernels/index.js';

export class KernelMemory {
  constructor(readonly memory: Memory) {}

  /** Releases what `use` allocates. */
  scratch<T>(use: () => T): T {
    const mark = this.memory.mark();
    const result = use();
    this.memory.release(mark);
    return result;
  }

  /** u32 addresses of the rows of a matrix without gaps. */
  rowAddresses(matrix: BaseArray, rows: number): Offset {
    const at = this.at(matrix);
    return this.addressList(Array.from({ length: rows }, (_, row) => at + (8 * row * matrix.length) / rows));
  }

  addressList(addresses: readonly Offset[]): Offset {
    const { memory } = this;
    const list = memory.allocate(4 * addresses.length);
    new Uint32Array(memory.wasm.buffer, list, addresses.length).set(addresses);
    return list;
  }

  doubles(count: number): Float64Array {
    return this.memory.doubles(this.memory.allocate(8 * count), count);
  }

  words(count: number): BigUint64Array {
    return this.memory.words(this.memory.allocate(8 * count), count);
  }

  bytes(count: number): Uint8Array {
    return this.memory.bytes(this.memory.allocate(count), count);
  }

  copy(words: BigUint64Array): BigUint64Array {
    return this.memory.words(this.memory.place(words), words.length);
  }

  at(words: BigUint64Array): Offset {
    return isResident(words) ? words.byteOffset : this.memory.place(words);
  }

  atDoubles(values: Float64Array): Offset {
    if (isResident(values)) return values.byteOffset;
    const { memory } = this;
    const at = memory.allocate(8 * values.length);
    memory.doubles(at, values.length).set(values);
    return at;
  }

  /** First double of rows that lie in the engine's memory. */
  atRow({ data, start }: DoubleRows): Offset {
    if (!isResident(data)) throw new RangeError('rows must lie in the memory of the kernels');
    return data.byteOffset + 8 * start;
  }

  atBytes(bytes: Uint8Array): Offset {
    return isResident(bytes) ? bytes.byteOffset : this.memory.placeBytes(bytes);
  }
}

/** Only the engine's memory is shared. */
export function isResident(array: { readonly buffer: ArrayBufferLike }): boolean {
  // A page from a file has such memory without a name for its class.
  return !(array.buffer instanceof ArrayBuffer);
}

export function requireResident(array: BigUint64Array): BigUint64Array {
  if (!isResident(array)) throw new RangeError('the target must lie in the memory of the kernels');
  return array;
}
