import { AbiCoder, id, keccak256, solidityPackedKeccak256 } from 'ethers';
import { describe, expect, it } from 'vitest';
import { toHex, utf8, to0x } from '../base/bytes.js';
import { encodeJobSpec, jobIdOf, parseJobSpec, type JobSpec } from './job-spec.js';
import { programDigest } from './program.js';
import { specDigestOf } from './spec-digest.js';

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const seed = `0x${'5a'.repeat(32)}`;
const order = { optimizer: { kind: 'sgd', m: [[0, 4], [300, 2]] }, seed, steps: 1000 }; // prettier-ignore
const proved: JobSpec = {
  version: 1,
  manifest: utf8(JSON.stringify(order)),
  dataset: { id: word(1), root: word(2), records: 64, shards: 2 },
  segmentSteps: 4,
  scheme: 'fxt-zk/1',
  proving: { profile: 'chain16', variant: 'joint', planDigest: word(3) },
  policyDigest: word(0),
  assurance: 'zk',
  recipient: word(4),
  settlement: { chainId: 1, contract: new Uint8Array(20) },
  salt: word(5),
};

describe('spec digest', () => {
  it('of a job that is not proved is its job id', () => {
    const plain: JobSpec = { ...proved, scheme: 'state-keccak', proving: null };
    expect(specDigestOf(plain)).toEqual(jobIdOf(plain));
  });

  it('of a job that is proved is what StepContext.sol hashes', () => {
    const schedule = solidityPackedKeccak256(['uint256[]'], [[4n, (300n << 8n) | 2n]]);
    const words = [id('fxt-zk/spec/1'), jobIdOf(proved), word(3), programDigest(proved.manifest), word(2), seed];
    const types = ['bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32', 'uint256', 'uint256', 'bytes32'];
    const expected = keccak256(AbiCoder.defaultAbiCoder().encode(types, [...words, 1000, 64, schedule]));
    expect(to0x(specDigestOf(proved))).toBe(expected);
  });

  it('changes with everything that a proof rests on', () => {
    const others: Partial<JobSpec>[] = [
      { salt: word(6) },
      { proving: { ...proved.proving!, planDigest: word(6) } },
      { dataset: { ...proved.dataset, root: word(6) } },
      { dataset: { ...proved.dataset, records: 65 } },
      { manifest: utf8(JSON.stringify({ ...order, steps: 1001 })) },
    ];
    const digests = [proved, ...others.map((change) => ({ ...proved, ...change }))].map((spec) => specDigestOf(spec));
    expect(new Set(digests.map(toHex)).size).toBe(others.length + 1);
  });

  it.each<[string, string]>([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['a key twice', JSON.stringify(order).replace('{', '{"seed":"0x",')],
    ['spaces', JSON.stringify(order, undefined, 1)],
    ['no seed', JSON.stringify({ ...order, seed: undefined })],
    ['a short seed', JSON.stringify({ ...order, seed: '0x5a' })],
    ['a broken number of steps', JSON.stringify({ ...order, steps: 1.5 })],
    ['no optimizer', JSON.stringify({ ...order, optimizer: null })],
    ['no list of sizes', JSON.stringify({ ...order, optimizer: { m: 1 } })],
    ['a size of two bytes', JSON.stringify({ ...order, optimizer: { m: [[0, 256]] } })],
    ['a triple', JSON.stringify({ ...order, optimizer: { m: [[0, 1, 2]] } })],
    ['depth', '['.repeat(30_000) + ']'.repeat(30_000)],
  ])('is refused for a manifest with %s', (_, manifest) => {
    expect(() => specDigestOf({ ...proved, manifest: utf8(manifest) })).toThrow(/JOB_MANIFEST/);
  });

  it('names a plan in the provable schemes, and there alone, Groth16 by its own name', () => {
    const groth16 = { profile: 'groth16', variant: 'joint' as const, planDigest: word(6) };
    const inGroth16: JobSpec = { ...proved, scheme: 'fxt-groth16/1', proving: groth16 };
    for (const spec of [proved, inGroth16]) expect(parseJobSpec(encodeJobSpec(spec))).toEqual(spec);
    expect(toHex(specDigestOf(inGroth16))).not.toBe(toHex(specDigestOf({ ...proved, proving: groth16 })));
    const wrong: Partial<JobSpec>[] = [
      { proving: null },
      { scheme: 'state-keccak' },
      { scheme: 'fxt-groth16/1' },
      { scheme: 'fxt-groth16/1', proving: null },
      { scheme: 'fxt-groth16/1', proving: { ...groth16, variant: 'separate' } },
      { proving: groth16 },
    ];
    for (const change of wrong) {
      expect(() => parseJobSpec(encodeJobSpec({ ...proved, ...change }))).toThrow(/JOB_PROVING/);
    }
  });
});
