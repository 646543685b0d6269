/** What commits over the compiled kernels. Arrays it makes lie in the engine's memory and are used in place. */
import { extArray } from './arrays.js';
import type { BaseArray, Code, CodeRows, CommittingBackend, ExtArray } from './backend.js';
import type { Ext } from './field/extension.js';
import { blake3Keys, type HashName, type TreeHash } from './hash.js';
import { KernelMemory, requireResident } from './kernel-memory.js';
import type { Engine, Mark, Task } from './kernels/index.js';

/** Indices per task: enough that handing it over costs little. */
export const chunk = 2 ** 13;
/** Words per task where they are only written. */
const clearedAtOnce = 2 ** 17;

export class KernelCommitter implements CommittingBackend {
  protected readonly memory: KernelMemory;

  constructor(readonly engine: Engine) {
    this.memory = new KernelMemory(engine.memory);
  }

  base(count: number): BaseArray {
    const words = this.memory.words(count);
    this.#clear(words);
    return words;
  }

  ext(count: number): ExtArray {
    return this.base(2 * count);
  }

  doubles(count: number): Float64Array {
    const values = this.memory.doubles(count);
    this.#clear(values);
    return values;
  }

  mark(): number {
    return this.engine.memory.mark();
  }

  release(mark: number): void {
    this.engine.memory.release(mark as Mark);
  }

  /** Addresses are those that the rows would have if whole codewords lay there. */
  encodeRows(
    { messages, random }: CodeRows,
    { m, logBlowup }: Code,
    first = 0,
    count = 2 ** logBlowup - first,
  ): BaseArray {
    const [rows, size] = [messages.length, 2 ** m];
    const out = this.memory.words(rows * count * size);
    this.memory.scratch(() => {
      const from = this.memory.addressList(messages.map((row) => this.memory.at(row)));
      const tail = this.memory.rowAddresses(random, rows);
      const to = this.memory.addressList(messages.map((_, k) => out.byteOffset + 8 * size * (k * count - first)));
      const { roots, threads } = this.engine;
      const cosets = Math.min(2, count);
      const [together, parts] = [3 - cosets, Math.ceil((cosets * threads) / count)];
      const share = together * Math.ceil(rows / (together * parts));
      const tasks: Task[] = [];
      for (let coset = first; coset < first + count; coset += cosets) {
        for (let begin = 0; begin < rows; begin += share) {
          const end = Math.min(rows, begin + share);
          tasks.push([
            'encodeRows',
            ...[from, tail, random.length / rows, m, m + logBlowup, begin, end, coset, cosets, roots, to],
          ]);
        }
      }
      this.engine.run(tasks);
    });
    return out;
  }

  hashLeaves(hash: HashName, header: number, rows: readonly BaseArray[], aux?: Uint8Array): Uint8Array {
    const count = rows[0]!.length;
    const out = this.memory.bytes(32 * count);
    this.memory.scratch(() => {
      const from = this.memory.addressList(rows.map((row) => this.memory.at(row)));
      const tail = aux === undefined ? 0 : this.memory.atBytes(aux);
      const key = hash === 'keccak' ? undefined : this.memory.atBytes(blake3Keys.leaf);
      this.split(count, (begin, end) => {
        const leaves = [from, rows.length, begin, end, header, tail, out.byteOffset];
        return key === undefined ? ['hashLeaves', ...leaves] : ['blake3Leaves', key, ...leaves];
      });
    });
    return out;
  }

  hashNodes({ hash, digestBytes }: TreeHash, digests: Uint8Array): Uint8Array {
    const out = this.memory.bytes(digests.length / 2);
    this.memory.scratch(() => {
      const [from, to] = [this.memory.atBytes(digests), out.byteOffset];
      const key = hash === 'keccak' ? undefined : this.memory.atBytes(blake3Keys.node);
      this.split(out.length / 32, (begin, end) =>
        key === undefined
          ? ['hashNodes', from, begin, end, digestBytes, to]
          : ['blake3Nodes', key, from, begin, end, to],
      );
    });
    return out;
  }

  counterHashes(prefix: Uint8Array, first: number, count: number): Uint8Array {
    const out = this.memory.bytes(32 * count);
    const to = out.byteOffset - 32 * first;
    this.memory.scratch(() => {
      const at = this.memory.atBytes(prefix);
      this.split(count, (begin, end) => ['counterHashes', at, prefix.length, first + begin, first + end, to]);
    });
    return out;
  }

  randomElements(prefix: Uint8Array, count: number): BaseArray {
    const out = this.memory.words(count);
    this.memory.scratch(() =>
      this.engine.kernels.prf(this.memory.atBytes(prefix), prefix.length, count, this.memory.at(out)),
    );
    return out;
  }

  powers(z: Ext, count: number): ExtArray {
    const out = this.memory.words(2 * count);
    this.memory.scratch(() => this.engine.kernels.powersExt(this.memory.at(extArray([z])), count, this.memory.at(out)));
    return out;
  }

  bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray {
    const middle = weights.length / 2;
    const outerSize = base.length / (middle * inner);
    const out = this.memory.words(2 * outerSize * inner);
    this.memory.scratch(() => {
      const [from, by, to] = [this.memory.at(base), this.memory.at(weights), this.memory.at(out)];
      this.engine.run([['bindBase', from, 0, outerSize, middle, inner, 0, inner, by, to]]);
    });
    return out;
  }

  setIntegers(target: BaseArray, values: Float64Array): void {
    const to = this.memory.at(requireResident(target));
    this.memory.scratch(() => {
      const from = this.memory.atDoubles(values);
      this.split(values.length, (begin, end) => ['fromDoubles', from + 8 * begin, end - begin, to + 8 * begin]);
    });
  }

  #clear({ byteOffset, length }: BigUint64Array | Float64Array): void {
    this.parts(length, (begin, end) => ['clear', end - begin, byteOffset + 8 * begin], clearedAtOnce);
  }

  protected split(count: number, task: (begin: number, end: number) => Task): void {
    const tasks: Task[] = [];
    for (let begin = 0; begin < count; begin += chunk) tasks.push(task(begin, Math.min(count, begin + chunk)));
    this.engine.run(tasks);
  }

  /** Work that is heavy per item: by default as many parts as threads. */
  protected parts(
    count: number,
    task: (begin: number, end: number) => Task,
    size = Math.ceil(count / this.engine.threads),
  ): void {
    const tasks: Task[] = [];
    for (let begin = 0; begin < count; begin += size) tasks.push(task(begin, Math.min(count, begin + size)));
    this.engine.run(tasks);
  }
}
