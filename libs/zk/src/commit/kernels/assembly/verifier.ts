/** Exports of the verifier's module: the hashes alone, one thread, a memory of its own (commit/keccak.ts, commit/blake3.ts). */
import { setTreeScratch, TREE_SCRATCH } from './blake3-trees';
import { HASH_SCRATCH, setHashScratch } from './hashing';

const scratch: usize = (__heap_base + 15) & ~15;
/** First byte behind constants and scratch. */
export const heapBase: usize = scratch + HASH_SCRATCH + TREE_SCRATCH;

setHashScratch(scratch);
setTreeScratch(scratch + HASH_SCRATCH);

export { blake3Many } from './blake3-trees';
export { absorbBlocks, beginHash, finishHash, hashMany } from './hashing';
