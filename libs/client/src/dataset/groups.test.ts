/** How records are cut into what is committed to, encrypted and held in memory. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shardBytesMax, shardTagBytes } from '#attestation/records';
import { groupsOf } from './groups.js';

describe('groups', () => {
  it('hold every record once, in order, in shards that may be sealed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 4_500_000 }),
        fc.nat(39),
        (superblocks, unit, recordBytes, fewer) => {
          const used = superblocks * unit - (fewer % unit);
          const groups = groupsOf(used, unit, recordBytes);
          let [next, nextShard] = [0, 0];
          for (const { first, records, superblocks: whole, shards } of groups) {
            expect([first, records]).toEqual([next, Math.min(whole * unit, used - next)]);
            let within = 0;
            for (const shard of shards) {
              expect([shard.index, shard.first]).toEqual([nextShard, within]);
              expect(shard.records * recordBytes + shardTagBytes).toBeLessThanOrEqual(shardBytesMax);
              expect(shard.records).toBeGreaterThan(0);
              within += shard.records;
              nextShard += 1;
            }
            expect(within).toBe(records);
            next += records;
          }
          expect(next).toBe(used);
        },
      ),
    );
  });

  it('are shards of about 4 MiB of whole superblocks, as data sets always had them', () => {
    const mnist = groupsOf(59_968, 64, 785);
    expect(mnist.map(({ shards }) => shards.length)).toEqual(Array(12).fill(1));
    expect(mnist[0]!.records).toBe(83 * 64);
  });

  it('cut a superblock of large records into several shards', () => {
    const [group, ...more] = groupsOf(128, 128, 224 * 224 * 3 + 1);
    expect(more).toEqual([]);
    expect(group!.shards.map(({ records }) => records)).toEqual([27, 27, 27, 27, 20]);
  });
});
