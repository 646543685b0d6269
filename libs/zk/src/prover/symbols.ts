/** Neighbouring leaves of a coded matrix, whether its codewords were kept or not (libs/zk/SPEC.md §14). */
import type { BaseArray, CommittingBackend, ExtArray } from '../commit/backend.js';
import { rowsOf, type CodedMatrix, type OpenableTree } from '../commit/commit.js';
import { endingsOf } from '../commit/endings.js';
import { domainPoint } from '../commit/field/domain.js';
import type { Ext } from '../commit/field/extension.js';
import { add, mul, pow } from '../commit/field/goldilocks.js';
import { leafHeader, type TreeHash, type TreeName } from '../commit/hash.js';

const real = (c0: bigint): Ext => ({ c0, c1: 0n });

/**
 * Symbols of each row at leaves `begin` to `begin` + `count`, where count is a power of two of at most a coset that divides
 * begin. These leaves are the points y·ω^k of order count: a row has there the values of its remainder modulo Y^count − y^count.
 */
export function symbolsOf(backend: CommittingBackend, matrix: CodedMatrix, begin: number, count: number): BaseArray[] {
  const { rows, m, logBlowup, random, codewords, messages } = matrix;
  if (codewords !== undefined) return rowsOf(codewords, rows).map((row) => row.subarray(begin, begin + count));
  const step = pow(domainPoint(begin, m, logBlowup), BigInt(count));
  const beyond = pow(step, BigInt(2 ** m / count));
  const tails = random.length === 0 ? [] : rowsOf(random, rows);
  const mark = backend.mark();
  const remainders = backend.base(rows * count);
  messages!.forEach((message, row) => {
    const inner = backend.mark();
    const low = remainder(backend, message, step, count);
    const high = tails[row] && remainder(backend, tails[row], step, count);
    for (let i = 0; i < count; i++) {
      remainders[row * count + i] = high ? add(low[2 * i]!, mul(beyond, high[2 * i]!)) : low[2 * i]!;
    }
    backend.release(inner);
  });
  const symbols = Array.from({ length: rows }, () => new BigUint64Array(count));
  for (let k = 0; k < count; k++) {
    const inner = backend.mark();
    const values = backend.bind(remainders, backend.powers(real(domainPoint(begin + k, m, logBlowup)), count), 1);
    for (let row = 0; row < rows; row++) symbols[row]![k] = values[2 * row]!;
    backend.release(inner);
  }
  backend.release(mark);
  return symbols;
}

/** Coefficients of a polynomial modulo Y^count − step. */
function remainder(backend: CommittingBackend, values: BaseArray, step: bigint, count: number): ExtArray {
  const blocks = Math.ceil(values.length / count);
  let whole = values;
  if (values.length % count !== 0) {
    whole = backend.base(blocks * count);
    whole.set(values);
  }
  return backend.bind(whole, backend.powers(real(step), blocks), count);
}

/** A lowest subtree: its leaves with all that is in them, and its nodes, which are hashed again once they are asked for. */
export class OpenBlock {
  readonly symbols: readonly BaseArray[];
  readonly endings: Uint8Array | undefined;
  readonly #levels: Uint8Array[] = [];

  constructor(
    readonly backend: CommittingBackend,
    readonly name: TreeName,
    readonly by: TreeHash,
    { matrix, tree, endings }: OpenableTree,
    block: number,
  ) {
    const count = 2 ** tree.from;
    const mark = backend.mark();
    const own = endingsOf(backend, endings, block * count, count);
    this.endings = own && Uint8Array.from(own);
    this.symbols = symbolsOf(backend, matrix, block * count, count);
    backend.release(mark);
  }

  /** Digests 32 bytes apart; the leaves are level 0. */
  level(level: number): Uint8Array {
    const { backend, by, symbols, endings } = this;
    const mark = backend.mark();
    for (let k = this.#levels.length; k <= level; k++) {
      const made =
        k === 0
          ? backend.hashLeaves(by.hash, leafHeader(this.name, by.hash), symbols, endings)
          : backend.hashNodes(by, this.#levels[k - 1]!);
      this.#levels.push(Uint8Array.from(made));
    }
    backend.release(mark);
    return this.#levels[level]!;
  }
}
