/** Exports of the kernel module. Every argument is a 32-bit integer: an offset, a count or a small number. */
export { keccak256, hashLeaves, hashNodes, counterHashes, prf, grind } from './hashing';
export { blake3Grind, blake3Leaves, blake3Nodes } from './blake3-trees';
export { rootTable, encodeRows } from './ntt';
export {
  addPowers,
  addReversed,
  addScaledExt,
  clear,
  differenceArrays,
  fromDoubles,
  outerExt,
  powersExt,
  productBase,
  sumArrays,
} from './vector';
export { addTensors, splitTensors } from './tensors';
export { countSums, subtractOuter, sumProducts } from './doubles';
export { bindBase, combineColumns, dotExt } from './sums';
export {
  eqTableExt,
  foldExt,
  fractionFactors,
  fractionLayer,
  fractionLeaves,
  plainRoundExt,
  roundExt,
  roundFractions,
} from './sumcheck';
import { setTreeScratch, TREE_SCRATCH } from './blake3-trees';
import { ACCUMULATOR_BYTES, setAccumulators } from './ext';
import { HASH_SCRATCH, setHashScratch } from './hashing';
import { setEncodeScratch } from './ntt';
import { FACTOR_BYTES, setFactors } from './tensors';

/** First byte behind the module's constants. */
export const heapBase: usize = __heap_base;

/** Bytes of private memory that `start` needs when rows have up to 2^m coefficients. */
export function privateBytes(m: i32): usize {
  return ACCUMULATOR_BYTES + FACTOR_BYTES + HASH_SCRATCH + TREE_SCRATCH + (((2 << m) + 16) << 4);
}

/** Gives the instance its private memory, 16-aligned. Each instance, so each thread, needs its own. */
export function start(privateMemory: usize): void {
  setAccumulators(privateMemory);
  setFactors(privateMemory + ACCUMULATOR_BYTES);
  setHashScratch(privateMemory + ACCUMULATOR_BYTES + FACTOR_BYTES);
  setTreeScratch(privateMemory + ACCUMULATOR_BYTES + FACTOR_BYTES + HASH_SCRATCH);
  setEncodeScratch(privateMemory + ACCUMULATOR_BYTES + FACTOR_BYTES + HASH_SCRATCH + TREE_SCRATCH);
}
