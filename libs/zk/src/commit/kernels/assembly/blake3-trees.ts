/**
 * Keyed BLAKE3 over memory, four inputs of equal length at a time: tree leaves and nodes, and proof-of-work search. A
 * key names what is hashed, so a node needs one block. Source: libs/zk/SPEC.md §2.1, §5.
 */
import { BLOCKS, CHAININGS, CHUNK_END, CHUNK_START, compress, KEYED_HASH, PARENT, ROOT } from './blake3';
import { pairAt } from './field';

const DIGEST: usize = 32;
/** Words of 8 bytes in a block and in a chunk. */
const BLOCK_WORDS: i32 = 8;
const CHUNK_WORDS: i32 = 128;
const WHOLE: i32 = CHUNK_START | CHUNK_END | ROOT | KEYED_HASH;
/** Enough for 2^16 chunks, which are 2^23 rows. */
const STACK: usize = 16 * CHAININGS;

let block: usize = 0;
let chaining: usize = 0;
let stack: usize = 0;

/** Bytes of thread-private memory, 16-aligned. */
export const TREE_SCRATCH: usize = BLOCKS + CHAININGS + STACK;

export function setTreeScratch(pointer: usize): void {
  block = pointer;
  chaining = pointer + BLOCKS;
  stack = pointer + BLOCKS + CHAININGS;
}

function setKey(key: usize): void {
  for (let i: usize = 0; i < 8; i++) v128.store(chaining + (i << 4), v128.load_splat<u32>(key + (i << 2)));
}

/** Bytes 8·slot to 8·slot + 7 of the four blocks: big-endian `ab` and `cd`, two inputs each. */
// @ts-ignore: decorator
@inline
function storeBigEndian(slot: i32, ab: v128, cd: v128): void {
  const at = block + ((<usize>slot) << 5);
  v128.store(at, v128.shuffle<u8>(ab, cd, 7, 6, 5, 4, 15, 14, 13, 12, 23, 22, 21, 20, 31, 30, 29, 28));
  v128.store(at, v128.shuffle<u8>(ab, cd, 3, 2, 1, 0, 11, 10, 9, 8, 19, 18, 17, 16, 27, 26, 25, 24), 16);
}

/** The same of bytes as they lie. */
// @ts-ignore: decorator
@inline
function storeBytes(slot: i32, ab: v128, cd: v128): void {
  const at = block + ((<usize>slot) << 5);
  v128.store(at, v128.shuffle<u32>(ab, cd, 0, 2, 4, 6));
  v128.store(at, v128.shuffle<u32>(ab, cd, 1, 3, 5, 7), 16);
}

/** The digests of as many of the four inputs as lie before `last`, the first of them to `out`. */
function storeDigests(out: usize, lanes: usize): void {
  for (let lane: usize = 0; lane < lanes; lane++) {
    for (let i: usize = 0; i < 8; i++) {
      store<u32>(out + lane * DIGEST + (i << 2), load<u32>(chaining + (i << 4) + (lane << 2)));
    }
  }
}

/** Chunks whose chaining values wait on the stack for those beside them. */
let depth: i32 = 0;

/** Chaining values of a node over the values on top of the stack and the current ones, in place of these. */
function joinTop(key: usize, flags: i32): void {
  depth--;
  memory.copy(block, stack + <usize>depth * CHAININGS, CHAININGS);
  memory.copy(block + CHAININGS, chaining, CHAININGS);
  setKey(key);
  compress(chaining, block, 0, 64, PARENT | KEYED_HASH | flags);
}

/**
 * Takes the blocks that hold words `word` to `word` + 7 of inputs of `words` words; the last ones leave the digests as
 * chaining values.
 */
function absorb(key: usize, word: i32, words: i32): void {
  if (word == 0) depth = 0;
  const starts = word % CHUNK_WORDS == 0;
  if (starts) setKey(key);
  const chunk = word / CHUNK_WORDS;
  const count = min<i32>(BLOCK_WORDS, words - word);
  const isLast = word + BLOCK_WORDS >= words;
  const ends = isLast || (word + BLOCK_WORDS) % CHUNK_WORDS == 0;
  const flags = (starts ? CHUNK_START : 0) | (ends ? CHUNK_END : 0) | (isLast && depth == 0 ? ROOT : 0) | KEYED_HASH;
  compress(chaining, block, chunk, count << 3, flags);
  if (isLast) {
    while (depth > 0) joinTop(key, depth == 1 ? ROOT : 0);
  } else if (ends) {
    for (let chunks = chunk + 1; chunks % 2 == 0; chunks >>= 1) joinTop(key, 0);
    memory.copy(stack + <usize>depth * CHAININGS, chaining, CHAININGS);
    depth++;
  }
}

/**
 * BLAKE3 under `key` of `count` messages of 8·words bytes each, one behind the other; 32 bytes each to `out`.
 *
 * @param words   at least one
 */
export function blake3Many(key: usize, messages: usize, words: i32, count: usize, out: usize): void {
  const length = <usize>words << 3;
  for (let first: usize = 0; first < count; first += 4) {
    const a = messages + first * length;
    const b = messages + min<usize>(first + 1, count - 1) * length;
    const c = messages + min<usize>(first + 2, count - 1) * length;
    const d = messages + min<usize>(first + 3, count - 1) * length;
    for (let word: i32 = 0; word < words; word += BLOCK_WORDS) {
      const filled = min<i32>(BLOCK_WORDS, words - word);
      if (filled < BLOCK_WORDS) memory.fill(block, 0, BLOCKS);
      for (let slot: i32 = 0; slot < filled; slot++) {
        const at = <usize>(word + slot) << 3;
        storeBytes(slot, pairAt(a + at, b + at), pairAt(c + at, d + at));
      }
      absorb(key, word, words);
    }
    storeDigests(out + first * DIGEST, min<usize>(4, count - first));
  }
}

/**
 * Leaf digests of columns begin … end-1: BLAKE3 under `key` of be64(header) ‖ be64 of every row's symbol ‖ aux.
 *
 * @param key        32 bytes
 * @param rows       `rowCount` u32 addresses of rows of canonical words
 * @param aux        32 bytes for each column, or 0 for none
 * @param out        32 bytes for each column (index 0 is column 0)
 */
export function blake3Leaves(
  key: usize,
  rows: usize,
  rowCount: i32,
  begin: usize,
  end: usize,
  header: i32,
  aux: usize,
  out: usize,
): void {
  const behindRows = 1 + rowCount;
  const words = behindRows + (aux == 0 ? 0 : 4);
  for (let column = begin; column < end; column += 4) {
    const lanes = min<usize>(4, end - column);
    // Where fewer than four are left, the last is hashed again and not stored.
    const b = min<usize>(column + 1, end - 1);
    const c = min<usize>(column + 2, end - 1);
    const d = min<usize>(column + 3, end - 1);
    for (let word: i32 = 0; word < words; word += BLOCK_WORDS) {
      const count = min<i32>(BLOCK_WORDS, words - word);
      if (count < BLOCK_WORDS) memory.fill(block, 0, BLOCKS);
      for (let slot: i32 = 0; slot < count; slot++) {
        const at = word + slot;
        if (at == 0) {
          storeBigEndian(0, i64x2.splat(<i64>header), i64x2.splat(<i64>header));
        } else if (at < behindRows) {
          const row = <usize>load<u32>(rows + (<usize>(at - 1) << 2));
          if (lanes == 4) storeBigEndian(slot, v128.load(row + (column << 3)), v128.load(row + (c << 3)));
          else storeBigEndian(slot, pairAt(row + (column << 3), row + (b << 3)), pairAt(row + (c << 3), row + (d << 3)));
        } else {
          const ending = aux + (<usize>(at - behindRows) << 3);
          storeBytes(
            slot,
            pairAt(ending + column * DIGEST, ending + b * DIGEST),
            pairAt(ending + c * DIGEST, ending + d * DIGEST),
          );
        }
      }
      absorb(key, word, words);
    }
    storeDigests(out + column * DIGEST, lanes);
  }
}

/**
 * Parents begin … end-1 of a level: BLAKE3 under `key` of left ‖ right.
 *
 * @param children      32-byte slots
 * @param out           32-byte slots, not overlapping `children`
 */
export function blake3Nodes(key: usize, children: usize, begin: usize, end: usize, out: usize): void {
  for (let node = begin; node < end; node += 4) {
    const a = children + node * 2 * DIGEST;
    const b = children + min<usize>(node + 1, end - 1) * 2 * DIGEST;
    const c = children + min<usize>(node + 2, end - 1) * 2 * DIGEST;
    const d = children + min<usize>(node + 3, end - 1) * 2 * DIGEST;
    for (let slot: i32 = 0; slot < BLOCK_WORDS; slot++) {
      const at = (<usize>slot) << 3;
      storeBytes(slot, pairAt(a + at, b + at), pairAt(c + at, d + at));
    }
    setKey(key);
    compress(chaining, block, 0, 64, WHOLE);
    storeDigests(out + node * DIGEST, min<usize>(4, end - node));
  }
}

/**
 * Searches nonces begin … end-1 for the lowest with the top `bits` bits of BLAKE3 under `key` of seed ‖ be64(nonce) zero
 * and writes it to `out` as u32; writes `end` when there is none.
 *
 * @param seed    32 bytes
 * @param bits    0 … 32
 */
export function blake3Grind(key: usize, seed: usize, begin: usize, end: usize, bits: i32, out: usize): void {
  memory.fill(block, 0, BLOCKS);
  for (let i: usize = 0; i < 8; i++) v128.store(block + (i << 4), v128.load_splat<u32>(seed + (i << 2)));
  for (let nonce: u64 = begin; nonce < <u64>end; nonce += 4) {
    storeBigEndian(4, i64x2.replace_lane(i64x2.splat(nonce), 1, nonce + 1), i64x2.replace_lane(i64x2.splat(nonce + 2), 1, nonce + 3));
    setKey(key);
    compress(chaining, block, 0, 40, WHOLE);
    for (let lane: u64 = 0; lane < 4; lane++) {
      if (nonce + lane >= <u64>end) break;
      if (<i32>clz<u32>(bswap<u32>(load<u32>(chaining + (<usize>lane << 2)))) < bits) continue;
      store<u32>(out, <u32>(nonce + lane));
      return;
    }
  }
  store<u32>(out, end);
}
