/** Exports of the verifier's module: the hash alone, one thread, a memory of its own (transcript/keccak.ts). */
import { HASH_SCRATCH, setHashScratch } from './hashing';

/** First byte behind constants and scratch. */
export const heapBase: usize = ((__heap_base + 15) & ~15) + HASH_SCRATCH;

setHashScratch((__heap_base + 15) & ~15);

export { absorbBlocks, beginHash, finishHash, hashMany } from './hashing';
