/**
 * One shared linear memory as a stack: allocate upwards, remember a mark, release everything above it. Nothing is
 * freed singly. Views are taken anew after every allocation, because growing replaces the buffer object.
 */
import { ConfigurationError } from '#attestation/base';
import type { Offset } from './kernels.js';
import { PAGE_BYTES, wasm, type WasmMemory } from './wasm.js';

/** 32-bit offsets end here. */
const LIMIT_BYTES = 65_535 * PAGE_BYTES;
const GROWTH_PAGES = 256;

export type Mark = number & { readonly mark: true };

export class Memory {
  readonly wasm: WasmMemory;
  #top = 0;
  #peak = 0;
  readonly #maximumPages: number;

  /** @param limitBytes   most bytes the memory may ever have */
  constructor(private readonly limitBytes: number) {
    this.#maximumPages = Math.floor(Math.min(limitBytes, LIMIT_BYTES) / PAGE_BYTES);
    this.wasm = new wasm.Memory({ initial: 1, maximum: 65_536, shared: true });
  }

  get peakBytes(): number {
    return this.#peak;
  }

  /**
   * @returns a multiple of 16; the bytes are not cleared
   * @throws  ConfigurationError ZK_MEMORY_EXCEEDED when the limit does not allow it
   */
  allocate(bytes: number): Offset {
    const at = this.#top;
    const top = Math.ceil((at + bytes) / 16) * 16;
    const pages = this.wasm.buffer.byteLength / PAGE_BYTES;
    const wanted = Math.ceil(top / PAGE_BYTES);
    if (wanted > this.#maximumPages) {
      throw new ConfigurationError('ZK_MEMORY_EXCEEDED', {
        expected: `at most ${this.limitBytes} bytes of prover memory`,
        got: `a need of ${top} bytes`,
        rule: 'libs/zk/SPEC.md §14',
        action: 'raise the memory limit, or prove fewer steps in one segment',
      });
    }
    if (wanted > pages) this.wasm.grow(Math.min(this.#maximumPages, wanted + GROWTH_PAGES) - pages);
    this.#top = top;
    this.#peak = Math.max(this.#peak, top);
    return at;
  }

  mark(): Mark {
    return this.#top as Mark;
  }

  release(mark: Mark): void {
    if (mark > this.#top) throw new RangeError('mark lies above the top of the memory');
    this.#top = mark;
  }

  words(at: Offset, count: number): BigUint64Array<SharedArrayBuffer> {
    return new BigUint64Array(this.wasm.buffer, at, count);
  }

  bytes(at: Offset, count: number): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(this.wasm.buffer, at, count);
  }

  integers(at: Offset, count: number): Int32Array<SharedArrayBuffer> {
    return new Int32Array(this.wasm.buffer, at, count);
  }

  doubles(at: Offset, count: number): Float64Array<SharedArrayBuffer> {
    return new Float64Array(this.wasm.buffer, at, count);
  }

  /** Copies words in; returns where. */
  place(words: ArrayLike<bigint>): Offset {
    const at = this.allocate(8 * words.length);
    this.words(at, words.length).set(words);
    return at;
  }

  /** A table of addresses, as kernels take several arrays. */
  placeTable(addresses: readonly Offset[]): Offset {
    const at = this.allocate(4 * addresses.length);
    new Uint32Array(this.wasm.buffer, at, addresses.length).set(addresses);
    return at;
  }

  placeBytes(bytes: Uint8Array): Offset {
    const at = this.allocate(bytes.length);
    this.bytes(at, bytes.length).set(bytes);
    return at;
  }
}
