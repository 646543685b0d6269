/**
 * keccak-256 over memory, two messages of equal length at a time: arbitrary bytes, tree leaves and nodes, the
 * counter-mode generator and proof-of-work search. Source: libs/zk/SPEC.md §2.1, §5.
 */
import { P, pairAt } from './field';
import { PAIR, permute, RATE_WORDS } from './keccak';

const RATE: usize = 136;
const DIGEST: usize = 32;

let state: usize = 0;

/** Bytes of thread-private memory that hashing uses: two pairs of states and two padded blocks. */
export const HASH_SCRATCH: usize = 2 * PAIR + 2 * 144;

export function setHashScratch(pointer: usize): void {
  state = pointer;
}

// @ts-ignore: decorator
@inline
function blockA(): usize {
  return state + 2 * PAIR;
}

// @ts-ignore: decorator
@inline
function blockB(): usize {
  return state + 2 * PAIR + 144;
}

// @ts-ignore: decorator
@inline
function swapBytes(a: v128): v128 {
  return v128.shuffle<u8>(a, a, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
}

// @ts-ignore: decorator
@inline
function absorbWord(index: i32, pair: v128): void {
  const at = state + ((<usize>index) << 4);
  v128.store(at, v128.xor(v128.load(at), pair));
}

function absorbBlock(a: usize, b: usize): void {
  for (let i: i32 = 0; i < RATE_WORDS; i++) {
    const offset = (<usize>i) << 3;
    absorbWord(i, pairAt(a + offset, b + offset));
  }
  permute(state);
}

/** Leaves the digests of two messages of equal length in the first four words of the states. */
function hashPair(a: usize, b: usize, length: usize): void {
  beginHash();
  let rest = length;
  while (rest >= RATE) {
    absorbBlock(a, b);
    a += RATE;
    b += RATE;
    rest -= RATE;
  }
  absorbLast(a, b, rest);
}

function absorbLast(a: usize, b: usize, rest: usize): void {
  memory.copy(blockA(), a, rest);
  memory.copy(blockB(), b, rest);
  padBlocks(rest);
  absorbBlock(blockA(), blockB());
}

/** A message that comes in parts: beginHash, absorbBlocks of whole blocks of 136 bytes, finishHash. */
export function beginHash(): void {
  memory.fill(state, 0, PAIR);
}

export function absorbBlocks(message: usize, blocks: usize): void {
  for (let i: usize = 0; i < blocks; i++) absorbBlock(message + i * RATE, message + i * RATE);
}

/** @param rest bytes of the message behind its whole blocks, below 136 */
export function finishHash(message: usize, rest: usize, out: usize): void {
  absorbLast(message, message, rest);
  storeDigest(0, out);
}

function padBlocks(length: usize): void {
  memory.fill(blockA() + length, 0, RATE - length);
  memory.fill(blockB() + length, 0, RATE - length);
  store<u8>(blockA() + length, 1);
  store<u8>(blockB() + length, 1);
  store<u8>(blockA() + 135, load<u8>(blockA() + 135) | 0x80);
  store<u8>(blockB() + 135, load<u8>(blockB() + 135) | 0x80);
}

function storeDigest(lane: usize, out: usize): void {
  for (let i: usize = 0; i < 4; i++) store<u64>(out + (i << 3), load<u64>(state + (i << 4) + (lane << 3)));
}

/** keccak256 of `length` bytes at `message`, 32 bytes to `out`. */
export function keccak256(message: usize, length: usize, out: usize): void {
  hashPair(message, message, length);
  storeDigest(0, out);
}

/** keccak256 of `count` messages of `length` bytes each, one behind the other; 32 bytes each to `out`. */
export function hashMany(messages: usize, length: usize, count: usize, out: usize): void {
  for (let i: usize = 0; i < count; i += 2) {
    const first = messages + i * length;
    const single = i + 1 == count;
    hashPair(first, single ? first : first + length, length);
    storeDigest(0, out + i * DIGEST);
    if (!single) storeDigest(1, out + (i + 1) * DIGEST);
  }
}

/**
 * Leaf digests of columns begin … end-1: keccak256(be64(header) ‖ be64 of every row's symbol ‖ aux).
 *
 * @param rows       `rowCount` u32 addresses of rows of canonical words
 * @param aux        32 bytes for each column, or 0 for none
 * @param out        32 bytes for each column (index 0 is column 0)
 */
export function hashLeaves(
  rows: usize,
  rowCount: usize,
  begin: usize,
  end: usize,
  header: i32,
  aux: usize,
  out: usize,
): void {
  for (let column = begin; column < end; column += 2) {
    // An odd last column is hashed twice and stored once.
    const single = column + 1 == end;
    const second: usize = single ? 0 : 1;
    memory.fill(state, 0, PAIR);
    absorbWord(0, swapBytes(i64x2.splat(<i64>header)));
    let word: i32 = 1;
    for (let row: usize = 0; row < rowCount; row++) {
      const at = <usize>load<u32>(rows + (row << 2)) + (column << 3);
      const pair = single ? v128.load_splat<u64>(at) : v128.load(at);
      absorbWord(word, swapBytes(pair));
      if (++word == RATE_WORDS) {
        permute(state);
        word = 0;
      }
    }
    if (aux != 0) {
      const first = aux + column * DIGEST;
      for (let i: usize = 0; i < 4; i++) {
        absorbWord(word, pairAt(first + (i << 3), first + second * DIGEST + (i << 3)));
        if (++word == RATE_WORDS) {
          permute(state);
          word = 0;
        }
      }
    }
    absorbWord(word, i64x2.splat(1));
    absorbWord(RATE_WORDS - 1, i64x2.splat(<i64>0x8000000000000000));
    permute(state);
    storeDigest(0, out + column * DIGEST);
    if (!single) storeDigest(1, out + (column + 1) * DIGEST);
  }
}

/**
 * Parents begin … end-1 of a level: keccak256(left ‖ right ‖ 0x01) of the first `digestBytes` bytes of each child.
 *
 * @param children      32-byte slots
 * @param digestBytes   26 or 32
 * @param out           32-byte slots, not overlapping `children`
 */
export function hashNodes(children: usize, begin: usize, end: usize, digestBytes: usize, out: usize): void {
  const a = blockA();
  const b = blockB();
  const length: usize = digestBytes << 1;
  store<u8>(a + length, 1);
  store<u8>(b + length, 1);
  padBlocks(length + 1);
  for (let node = begin; node < end; node += 2) {
    const single = node + 1 == end;
    const left = children + node * 2 * DIGEST;
    const right = single ? left : left + 2 * DIGEST;
    memory.copy(a, left, digestBytes);
    memory.copy(a + digestBytes, left + DIGEST, digestBytes);
    memory.copy(b, right, digestBytes);
    memory.copy(b + digestBytes, right + DIGEST, digestBytes);
    memory.fill(state, 0, PAIR);
    absorbBlock(a, b);
    storeDigest(0, out + node * DIGEST);
    if (!single) storeDigest(1, out + (node + 1) * DIGEST);
  }
}

function counterBlocks(prefix: usize, prefixBytes: usize): void {
  memory.copy(blockA(), prefix, prefixBytes);
  memory.copy(blockB(), prefix, prefixBytes);
  padBlocks(prefixBytes + 8);
}

/** Digests of prefix ‖ be64(counter) and prefix ‖ be64(counter + 1) into the states; after counterBlocks. */
function hashCounters(prefixBytes: usize, counter: u64): void {
  store<u64>(blockA() + prefixBytes, bswap<u64>(counter));
  store<u64>(blockB() + prefixBytes, bswap<u64>(counter + 1));
  memory.fill(state, 0, PAIR);
  absorbBlock(blockA(), blockB());
}

/**
 * keccak256(prefix ‖ be64(i)) for i in begin … end-1, 32 bytes at out + 32·i.
 *
 * @param prefixBytes   at most 120
 */
export function counterHashes(prefix: usize, prefixBytes: usize, begin: usize, end: usize, out: usize): void {
  counterBlocks(prefix, prefixBytes);
  for (let counter = begin; counter < end; counter += 2) {
    hashCounters(prefixBytes, counter);
    storeDigest(0, out + counter * DIGEST);
    if (counter + 1 < end) storeDigest(1, out + (counter + 1) * DIGEST);
  }
}

/**
 * The stream keccak256(prefix ‖ be64(0)) ‖ keccak256(prefix ‖ be64(1)) ‖ … read as big-endian words; words not below
 * p are skipped; the first `count` that remain are written.
 *
 * @param prefixBytes   at most 120
 */
export function prf(prefix: usize, prefixBytes: usize, count: usize, out: usize): void {
  counterBlocks(prefix, prefixBytes);
  let counter: u64 = 0;
  let written: usize = 0;
  while (written < count) {
    hashCounters(prefixBytes, counter);
    counter += 2;
    for (let i: usize = 0; i < 8; i++) {
      const word = bswap<u64>(load<u64>(state + ((i & 3) << 4) + ((i >> 2) << 3)));
      if (word < P && written < count) {
        store<u64>(out + (written << 3), word);
        written++;
      }
    }
  }
}

/**
 * Searches nonces begin … end-1 for the lowest with the top `bits` bits of keccak256(seed ‖ be64(nonce)) zero and
 * writes it to `out` as u32; writes `end` when there is none.
 *
 * @param seed    32 bytes
 * @param bits    0 … 64
 */
export function grind(seed: usize, begin: usize, end: usize, bits: i32, out: usize): void {
  counterBlocks(seed, DIGEST);
  let found = end;
  for (let nonce = begin; nonce < end && found == end; nonce += 2) {
    hashCounters(DIGEST, nonce);
    if (leadingZeros(0) >= bits) found = nonce;
    else if (nonce + 1 < end && leadingZeros(1) >= bits) found = nonce + 1;
  }
  store<u32>(out, found);
}

function leadingZeros(lane: usize): i32 {
  return <i32>clz<u64>(bswap<u64>(load<u64>(state + (lane << 3))));
}
