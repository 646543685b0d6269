import { describe, expect, it } from 'vitest';
import { decideAssurance, type AssuredJob, type AssuringNode } from './assurance.js';

const at = 1_780_000_000;
const plain: AssuredJob = { requested: 'tee', priceWei: 10n, highValueFromWei: 100n, isHighValue: false };
const attested: AssuringNode = { hasTee: true, attestedUntil: at + 1 };

describe('decideAssurance', () => {
  it.each<[string, Partial<AssuredJob>, Partial<AssuringNode>, string, string]>([
    ['an attested node, as asked', {}, {}, 'tee', 'REQUESTED'],
    ['a node not yet appraised, as asked', {}, { attestedUntil: null }, 'tee', 'REQUESTED'],
    ['a job that asks for both', { requested: 'tee+zk' }, {}, 'tee+zk', 'REQUESTED'],
    ['a job that asks for a proof alone', { requested: 'zk' }, {}, 'zk', 'REQUESTED'],
    ['no TEE', {}, { hasTee: false }, 'zk', 'NO_TEE'],
    ['no TEE, high value', { isHighValue: true }, { hasTee: false, attestedUntil: null }, 'zk', 'NO_TEE'],
    ['no TEE, both asked for', { requested: 'tee+zk' }, { hasTee: false }, 'zk', 'NO_TEE'],
    ['attestation lapsed a second ago', {}, { attestedUntil: at - 1 }, 'zk', 'TEE_LAPSED'],
    ['attestation that lapses now', {}, { attestedUntil: at }, 'zk', 'TEE_LAPSED'],
    ['lapsed, high value', { isHighValue: true }, { attestedUntil: at }, 'zk', 'TEE_LAPSED'],
    ['high value by flag', { isHighValue: true }, {}, 'tee+zk', 'HIGH_VALUE'],
    ['high value by price', { priceWei: 100n }, {}, 'tee+zk', 'HIGH_VALUE'],
    ['one wei below the threshold', { priceWei: 99n }, {}, 'tee', 'REQUESTED'],
    ['any price without a threshold', { priceWei: 10n ** 30n, highValueFromWei: null }, {}, 'tee', 'REQUESTED'],
    ['a sample, as asked', { requested: 'sampled' }, { hasTee: false }, 'sampled', 'REQUESTED'],
    ['a sample of high value', { requested: 'sampled', priceWei: 100n }, { hasTee: false }, 'zk', 'HIGH_VALUE'],
    ['high value that asks for a proof alone', { requested: 'zk', isHighValue: true }, {}, 'zk', 'REQUESTED'],
  ])('%s', (_name, job, node, assurance, reason) => {
    expect(decideAssurance({ ...plain, ...job }, { ...attested, ...node }, at)).toEqual({ assurance, reason });
  });
});
