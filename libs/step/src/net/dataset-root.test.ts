/** The root of a set binds header, blocks and their order. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { expect, it } from 'vitest';
import { concatBytes, utf8 } from '#attestation/base';
import { layoutDigest, merkleRoot, netDatasetRoot, parseDataHeader } from '../index.js';

const json = {
  ...{ layout: 2, features: { dtype: 'uint8', shape: [3], frac: 8 }, columns: [], tokenizer: null },
  ...{ label: { kind: 'class', classes: 2, columns: [] }, split: { train: 2, validation: 1 } },
};
const header = parseDataHeader(json);
const [one, two] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

it('is a digest of its own over header and blocks', () => {
  const found = netDatasetRoot(header, [one, two]);
  const parts = concatBytes(keccak_256(utf8('veritrain/dataset/v2')), layoutDigest(header), merkleRoot([one, two]));
  expect(found).toEqual(keccak_256(parts));
  const other = parseDataHeader({ ...json, split: 'given' });
  expect(netDatasetRoot(other, [one, two])).not.toEqual(found);
  expect(netDatasetRoot(header, [two, one])).not.toEqual(found);
  expect(() => netDatasetRoot(header, [])).toThrow('MERKLE_EMPTY');
});
