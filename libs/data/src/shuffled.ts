/**
 * Writes records to their places in a shuffled order with sequential reads and bounded memory: places are cut into
 * buckets, each a stretch of one scratch file; a bucket fits memory and is put in order there.
 */
import { open, rm, type FileHandle } from 'node:fs/promises';
import * as limits from './limits.js';
import { readAll, writeAll } from './stage.js';

export class ShuffledWriter {
  private readonly entryBytes: number;
  /** Records of one bucket. */
  private readonly perBucket: number;
  private readonly buffers: Uint8Array[];
  private readonly used: Uint32Array;
  /** Bytes of each bucket on disk. */
  private readonly written: Float64Array;

  private constructor(
    private readonly scratch: FileHandle,
    private readonly path: string,
    private readonly recordBytes: number,
    private readonly count: number,
  ) {
    this.entryBytes = 4 + recordBytes;
    const byMemory = Math.max(1, Math.floor(limits.bucketBytes / this.entryBytes));
    this.perBucket = Math.max(byMemory, Math.ceil(count / limits.bucketsMax));
    const buckets = Math.ceil(count / this.perBucket);
    const entries = Math.max(1, Math.floor(limits.bucketBytes / buckets / this.entryBytes));
    const size = Math.min(entries, this.perBucket) * this.entryBytes;
    this.buffers = Array.from({ length: buckets }, () => new Uint8Array(Math.min(size, 256 * 1024 + this.entryBytes)));
    this.used = new Uint32Array(buckets);
    this.written = new Float64Array(buckets);
  }

  static async open(path: string, recordBytes: number, count: number): Promise<ShuffledWriter> {
    return new ShuffledWriter(await open(path, 'w+'), path, recordBytes, count);
  }

  /** @param place 0 … count − 1, each once @returns what is to be awaited, if anything; the record is copied at once */
  add(record: Uint8Array, place: number): Promise<void> | null {
    const bucket = Math.floor(place / this.perBucket);
    const buffer = this.buffers[bucket]!;
    const at = this.used[bucket]!;
    for (let byte = 0; byte < 4; byte++) buffer[at + byte] = place >>> (8 * byte);
    buffer.set(record, at + 4);
    this.used[bucket] = at + this.entryBytes;
    return at + 2 * this.entryBytes > buffer.length ? this.flush(bucket) : null;
  }

  /** Hands out the records in the order of their places, a bucket at a time, and removes the scratch file. */
  async *inOrder(): AsyncIterable<{ readonly first: number; readonly bytes: Uint8Array }> {
    for (const bucket of this.buffers.keys()) await this.flush(bucket);
    this.buffers.length = 0;
    const stretch = this.perBucket * this.entryBytes;
    const ordered = new Uint8Array(Math.min(this.perBucket, this.count) * this.recordBytes);
    const entries = new Uint8Array(Math.min(stretch, this.count * this.entryBytes));
    const view = new DataView(entries.buffer);
    for (let bucket = 0; bucket < this.written.length; bucket++) {
      const bytes = this.written[bucket]!;
      await readAll(this.scratch, entries.subarray(0, bytes), bucket * stretch);
      const first = bucket * this.perBucket;
      for (let at = 0; at < bytes; at += this.entryBytes) {
        const place = view.getUint32(at, true) - first;
        ordered.set(entries.subarray(at + 4, at + this.entryBytes), place * this.recordBytes);
      }
      yield { first, bytes: ordered.subarray(0, (bytes / this.entryBytes) * this.recordBytes) };
    }
  }

  async close(): Promise<void> {
    await this.scratch.close();
    await rm(this.path, { force: true });
  }

  private async flush(bucket: number): Promise<void> {
    const position = bucket * this.perBucket * this.entryBytes + this.written[bucket]!;
    await writeAll(this.scratch, this.buffers[bucket]!.subarray(0, this.used[bucket]), position);
    this.written[bucket]! += this.used[bucket]!;
    this.used[bucket] = 0;
  }
}
