import { expect, it } from 'vitest';
import type { BlockRef, ChainReader } from './chain-reader.js';
import { Indexer, MemoryEventStore } from './indexer.js';

/** A chain of blocks that are named by their branch. */
function chainOf(hashes: string[]): ChainReader {
  const at = (number: number): BlockRef | null =>
    hashes[number] === undefined ? null : { number, hash: hashes[number] };
  return {
    contract: 'test',
    head: async () => at(hashes.length - 1)!,
    block: async (number) => at(number),
    events: async () => [],
    close: () => undefined,
  };
}

class CountingStore extends MemoryEventStore {
  looks = 0;

  override position(): Promise<BlockRef | null> {
    this.looks += 1;
    return super.position();
  }
}

it('asks its store nothing while the head stays, and again when it changes, also at the same height', async () => {
  const hashes = ['0', '1a', '2a', '3a'];
  const store = new CountingStore();
  const indexer = new Indexer(chainOf(hashes), store, { startBlock: 0, confirmations: 1 });
  expect(await indexer.catchUp()).toBe(2);
  const looks = store.looks;
  expect(await indexer.catchUp()).toBe(2);
  expect(store.looks).toBe(looks);

  hashes.splice(1, 3, '1b', '2b', '3b');
  expect(await indexer.catchUp()).toBe(2);
  expect(await store.position()).toEqual({ number: 2, hash: '2b' });
});

it('looks again when the chain got shorter while it was read', async () => {
  const hashes = ['0', '1a', '2a'];
  const store = new CountingStore();
  const chain = chainOf(hashes);
  let isCut = false;
  const cut: ChainReader = {
    ...chain,
    async block(number) {
      if (!isCut) hashes.pop();
      isCut = true;
      return chain.block(number);
    },
  };
  const indexer = new Indexer(cut, store, { startBlock: 0 });
  expect(await indexer.catchUp()).toBeNull();
  hashes.push('2a');
  expect(await indexer.catchUp()).toBe(2);
});
