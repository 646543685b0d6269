import { expect, it } from 'vitest';
import type { JobRequirements } from '#libs/wire';
import { anyProvider } from './job-queue.js';
import { misfit } from './placement.js';

const provider = `0x${'11'.repeat(20)}`;
const node = (changes: object = {}, of = provider) => ({
  provider: of,
  capabilities: {
    tee: 'snp',
    cores: 4,
    memoryMiB: 1024,
    fxt: [1, 2],
    ops: ['dense', 'relu'],
    version: '1',
    ...changes,
  },
});
const job = (requirements: JobRequirements = {}, changes: object = {}) => ({
  ...{ provider: anyProvider, assurance: 'tee', parallel: 1, price: '100' },
  requirements: requirements as Record<string, unknown>,
  ...changes,
});

it.each<[string, ReturnType<typeof job>, readonly ReturnType<typeof node>[]]>([
  ['no node is online', job(), []],
  ['of 1 nodes online none has a TEE', job(), [node({ tee: 'none' })]],
  ['of 1 nodes online none is without a TEE, as those are that prove', job({}, { assurance: 'zk' }), [node()]],
  ['of 1 nodes online none is of provider 0x22', job({}, { provider: '0x22' }), [node()]],
  ['of 2 nodes online none has a TEE of kind tdx', job({ tee: ['tdx'] }), [node(), node()]],
  ['of 1 nodes online none trains fxt 2', job({ fxt: 2 }), [node({ fxt: undefined })]],
  [
    'of 2 nodes online none trains the op conv2d beside the others',
    job({ fxt: 2, ops: ['dense', 'conv2d'] }),
    [node(), node()],
  ],
  [
    'of 1 nodes online none trains the op relu beside the others',
    job({ fxt: 2, ops: ['dense', 'relu'] }),
    [node({ ops: ['dense'] }), node({ fxt: [1] })],
  ],
  ['of 1 nodes online none has the Groth16 key 0xab', job({ groth16Key: '0xab' }), [node()]],
  ['of 1 nodes online none starts a job from uploaded weights', job({ fxt: 2, ops: ['dense'], start: true }), [node()]],
  ['of 1 nodes online none trains in data parallel', job({}, { parallel: 2 }), [node()]],
  ['of 1 nodes online none takes 100 wei', job(), [node({ priceMin: '101' })]],
  ['of 1 nodes online none has firmware that is current', job({ tcb: 'current' }), [node()]],
  ['of 1 nodes online none has 8 cores', job({ cores: 8 }), [node()]],
  ['of 1 nodes online none has 2048 MiB of memory', job({ memoryMiB: 2048 }), [node()]],
  ['of 1 nodes online none trains 5 samples a second', job({ samplesPerSecond: 5 }), [node()]],
])('says: %s', (words, asked, nodes) => {
  expect(misfit(asked, nodes)).toBe(words);
});

it('says nothing where one of several nodes can take it', () => {
  const asked = job({ tee: ['snp'], fxt: 2, ops: ['dense'], cores: 4 }, { provider });
  expect(misfit(asked, [node({ tee: 'none' }), node({}, '0x22'), node()])).toBeNull();
  expect(misfit(job({ fxt: 2, start: true }), [node(), node({ start: true })])).toBeNull();
});
