/** What stands at a point of a coded matrix, whether its codewords were kept or not (libs/zk/SPEC.md §14). */
import type { BaseArray, CommittingBackend, ExtArray } from '../commit/backend.js';
import type { CodedMatrix } from '../commit/commit.js';
import { domainPoint } from '../commit/field/domain.js';
import { add, mul, pow } from '../commit/field/goldilocks.js';

/** Symbols of all rows at one point of the domain. */
export function symbolsAt(backend: CommittingBackend, matrix: CodedMatrix, leaf: number): bigint[] {
  const { rows, m, logBlowup, random, codewords, messages } = matrix;
  if (codewords !== undefined) {
    const length = codewords.length / rows;
    return Array.from({ length: rows }, (_, row) => codewords[row * length + leaf]!);
  }
  const y = domainPoint(leaf, m, logBlowup);
  const mark = backend.mark();
  const at = (values: BaseArray): ExtArray => {
    const count = values.length / rows;
    return count === 0 ? backend.ext(rows) : backend.bind(values, backend.powers({ c0: y, c1: 0n }, count), 1);
  };
  const [ofMessages, ofRandom] = [at(messages!), at(random)];
  const beyond = pow(y, 1n << BigInt(m));
  const symbols = Array.from({ length: rows }, (_, row) => {
    return add(ofMessages[2 * row]!, mul(beyond, ofRandom[2 * row]!));
  });
  backend.release(mark);
  return symbols;
}
