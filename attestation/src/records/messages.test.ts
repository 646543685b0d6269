import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { addressOfPublicKey, recoverAddress, signRecoverable } from '../base/address.js';
import { utf8 } from '../base/bytes.js';
import {
  datasetManifestJson,
  parseDatasetManifest,
  readDatasetManifest,
  shardAssociatedData,
} from './dataset-manifest.js';
import { encodeJobSpec, jobIdOf, parseJobSpec, progressOf, type JobSpec } from './job-spec.js';
import { encodeStepStatement, parseStepStatement, stepStatementDigest } from './step-statement.js';

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const hex = (bytes: number): string => `0x${'ab'.repeat(bytes)}`;

const spec: JobSpec = {
  version: 1,
  manifest: utf8('{}'),
  dataset: { id: word(1), root: word(2), records: 64, shards: 2 },
  segmentSteps: 5,
  scheme: 'state-keccak',
  proving: null,
  policyDigest: word(3),
  assurance: 'tee',
  recipient: word(4),
  settlement: { chainId: 1, contract: new Uint8Array(20) },
  salt: word(5),
};

describe('job spec', () => {
  it('comes back from its bytes, and no two specs share an id', () => {
    expect(parseJobSpec(encodeJobSpec(spec))).toEqual(spec);
    const others: Partial<JobSpec>[] = [
      { salt: word(6) },
      { recipient: word(6) },
      { segmentSteps: 6 },
      { assurance: 'tee+zk' },
      { dataset: { ...spec.dataset, root: word(6) } },
      { settlement: { ...spec.settlement, chainId: 2 } },
    ];
    const ids = [spec, ...others.map((change) => ({ ...spec, ...change }))].map((one) => jobIdOf(one).join());
    expect(new Set(ids).size).toBe(others.length + 1);
  });

  it('of one worker has the bytes it always had; of several it has one field more', () => {
    expect(encodeJobSpec({ ...spec, parallel: undefined })).toEqual(encodeJobSpec(spec));
    const parallel = { ...spec, parallel: 2 };
    expect(parseJobSpec(encodeJobSpec(parallel))).toEqual(parallel);
    expect(jobIdOf(parallel)).not.toEqual(jobIdOf(spec));
    for (const workers of [0, 1, 65]) {
      expect(() => parseJobSpec(encodeJobSpec({ ...spec, parallel: workers }))).toThrow(/MESSAGE_SHAPE/);
    }
    const proved = { ...parallel, assurance: 'tee+zk' } as const;
    expect(() => parseJobSpec(encodeJobSpec(proved))).toThrow(/JOB_PARALLEL/);
  });

  it('A-M5 says what may leave the enclave, and has the bytes it always had where it says nothing', () => {
    expect(encodeJobSpec({ ...spec, progress: undefined })).toEqual(encodeJobSpec(spec));
    expect(progressOf(spec)).toBe('epoch');
    for (const every of ['step', 'segment', 'epoch', 'none'] as const) {
      const said = { ...spec, parallel: 2, progress: { every } };
      expect(parseJobSpec(encodeJobSpec(said))).toEqual(said);
      expect(progressOf(said)).toBe(every);
      expect(jobIdOf({ ...spec, progress: { every } })).not.toEqual(jobIdOf(spec));
    }
    for (const progress of [{ every: 'batch' }, {}, { every: 'none', more: 1 }, null]) {
      expect(() => parseJobSpec(encodeJobSpec({ ...spec, progress } as JobSpec))).toThrow(/MESSAGE_SHAPE/);
    }
  });

  it.each<[string, Record<string, unknown>]>([
    ['another version', { version: 2 }],
    ['another scheme', { scheme: 'plain' }],
    ['another assurance', { assurance: 'none' }],
    ['no steps per segment', { segmentSteps: 0 }],
    ['a short salt', { salt: new Uint8Array(31) }],
    ['no shards', { dataset: { ...spec.dataset, shards: 0 } }],
    ['a field too many', { more: 1 }],
    ['a field too many below', { settlement: { ...spec.settlement, more: 1 } }],
  ])('with %s is refused', (_, change) => {
    expect(() => parseJobSpec(encodeJobSpec({ ...spec, ...change } as JobSpec))).toThrow(/MESSAGE_SHAPE/);
  });

  it('that is cut, followed by bytes or too long is refused', () => {
    const bytes = encodeJobSpec(spec);
    for (let cut = 0; cut < bytes.length; cut++) expect(() => parseJobSpec(bytes.subarray(0, cut))).toThrow(/CBOR_/);
    expect(() => parseJobSpec(new Uint8Array([...bytes, 0]))).toThrow(/CBOR_/);
    expect(() => parseJobSpec(new Uint8Array(64 * 1024 + 1))).toThrow(/MESSAGE_SIZE/);
  });
});

describe('step statement', () => {
  const weights = { weightsBefore: word(4), weightsAfter: word(5) };
  const statement = {
    jobId: word(1),
    programDigest: word(2),
    datasetRoot: word(3),
    stepFrom: 7,
    stepCount: 9,
    ...weights,
  };
  const bytes = encodeStepStatement(statement);

  it('comes back from its bytes, and every byte is in its digest', () => {
    expect(parseStepStatement(bytes)).toEqual(statement);
    expect(bytes).toHaveLength(224);
    const digests = new Set(
      [...bytes.keys()].flatMap((at) => {
        const changed = bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
        const isNumber = at >= 96 && at < 160;
        return isNumber && at % 32 < 26 ? [] : [stepStatementDigest(parseStepStatement(changed)).join()];
      }),
    );
    expect(digests.size).toBe(224 - 2 * 26);
  });

  it('of another length, or with steps beyond 2^53, is refused', () => {
    for (const bad of [bytes.subarray(1), new Uint8Array([...bytes, 0]), new Uint8Array()]) {
      expect(() => parseStepStatement(bad)).toThrow(/STATEMENT_LENGTH/);
    }
    const large = bytes.map((byte, at) => (at === 96 ? 1 : byte));
    expect(() => parseStepStatement(large)).toThrow(/STATEMENT_STEPS/);
  });
});

describe('data set manifest', () => {
  const shard = { records: 32, bytes: 32 * 4 + 16, nonce: hex(12), sha256: hex(32) };
  const json = {
    ...{ version: 1, id: hex(32), root: hex(32), scheme: 'state-keccak', records: 64, features: 3, classes: 2 },
    ...{ batch: 16, superblock: 2, shards: [shard, shard] },
  };

  it('comes back from its JSON', () => {
    const manifest = parseDatasetManifest(json);
    expect(datasetManifestJson(manifest)).toEqual(json);
    expect(readDatasetManifest(utf8(JSON.stringify(json)))).toEqual(manifest);
    const both = { ...json, groth16: { root: hex(32), commitments: [hex(32), hex(32)] } };
    expect(datasetManifestJson(parseDatasetManifest(both))).toEqual(both);
    expect(shardAssociatedData(manifest, 0)).not.toEqual(shardAssociatedData(manifest, 1));
  });

  it.each<[string, string, unknown]>([
    ['DATASET_MANIFEST', 'other records than its shards', { ...json, records: 96 }],
    ['DATASET_MANIFEST', 'half a superblock', { ...json, superblock: 8 }],
    ['DATASET_MANIFEST', 'a shard of another length', { ...json, shards: [shard, { ...shard, bytes: 145 }] }],
    ['DATASET_MANIFEST', 'no shards', { ...json, shards: [] }],
    ['DATASET_MANIFEST', 'more nesting than it has', { ...json, id: [[[[]]]] }],
    ['MESSAGE_SHAPE', 'a field too many', { ...json, owner: 'me' }],
    ['MESSAGE_SHAPE', 'a short id', { ...json, id: hex(31) }],
    ['MESSAGE_SHAPE', 'upper-case digits', { ...json, id: hex(32).toUpperCase() }],
    ['BYTES_HEX', 'half a byte', { ...json, id: `${hex(31)}a` }],
    ['MESSAGE_SHAPE', 'a shard beyond the limit', { ...json, shards: [{ ...shard, bytes: 2 ** 24 }, shard] }],
    [
      'DATASET_MANIFEST',
      'a superblock too few in scheme fxt-groth16/1',
      { ...json, groth16: { root: hex(32), commitments: [hex(32)] } },
    ],
    ['MESSAGE_SHAPE', 'no root in scheme fxt-groth16/1', { ...json, groth16: { commitments: [hex(32), hex(32)] } }],
    ['MESSAGE_SHAPE', 'one class', { ...json, classes: 1 }],
    ['MESSAGE_SHAPE', 'nothing', null],
    ['MESSAGE_SHAPE', 'a list', []],
  ])('%s: with %s', (code, _, bad) => {
    expect(() => parseDatasetManifest(bad)).toThrow(code);
  });

  it.each([
    ['DATASET_MANIFEST', utf8('{')],
    ['DATASET_MANIFEST', utf8(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)],
    ['DATASET_MANIFEST', Uint8Array.of(0xff)],
    ['MESSAGE_SIZE', new Uint8Array(4 * 1024 * 1024 + 1)],
  ])('%s: as a file', (code, bytes) => {
    expect(() => readDatasetManifest(bytes)).toThrow(code);
  });
});

describe('recovered account', () => {
  const secret = word(7);
  const digest = word(8);
  const signature = signRecoverable(digest, secret);

  it('is the signer’s', () => {
    const account = addressOfPublicKey(secp256k1.getPublicKey(secret, false));
    expect(recoverAddress(digest, signature)).toEqual(account);
  });

  it.each([
    ['cut', signature.subarray(0, 64)],
    ['followed by a byte', new Uint8Array([...signature, 0])],
    ['empty', new Uint8Array()],
    ['of zeros', new Uint8Array(65)],
    ['with v of 0 or 1', signature.map((byte, at) => (at === 64 ? byte - 27 : byte))],
    ['with s in the upper half', upperHalf(signature)],
  ])('of a signature %s is refused: SEAL_SIGNATURE', (_, bad) => {
    expect(() => recoverAddress(digest, bad)).toThrow(/SEAL_SIGNATURE/);
  });
});

/** The other signature that the same key could have made: s ↦ n − s, v flipped. */
function upperHalf(signature: Uint8Array): Uint8Array {
  const { r, s } = secp256k1.Signature.fromBytes(signature.subarray(0, 64));
  const other = new secp256k1.Signature(r, secp256k1.Point.Fn.ORDER - s).toBytes();
  return new Uint8Array([...other, signature[64] === 27 ? 28 : 27]);
}
