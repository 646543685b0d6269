import { describe, expect, it } from 'vitest';
import {
  base64,
  dispatchSubjects,
  Hex32,
  LeaseAcquire,
  LeaseDeliver,
  LeaseFail,
  NodeRegister,
  pattern,
  TermsJson,
  Wei,
} from '../index.js';

const auth = 'vt_test_0123456789abcdef';

describe('fields', () => {
  it('takes lower-case hexadecimal of the exact length only', () => {
    const good = `0x${'ab'.repeat(32)}`;
    expect(Hex32.safeParse(good).success).toBe(true);
    for (const bad of [good.slice(2), good.toUpperCase(), `${good}00`, good.slice(0, -1), '']) {
      expect(Hex32.safeParse(bad).success, bad).toBe(false);
    }
  });

  it('bounds base64 by decoded bytes and refuses what does not decode', () => {
    expect(base64(3).safeParse('AAAA').success).toBe(true);
    for (const bad of ['AAAAAAAA', 'AAA', 'A===', 'AA-_', ' AAA']) expect(base64(3).safeParse(bad).success).toBe(false);
  });

  it('takes wei without sign, leading zero or exponent', () => {
    expect(Wei.safeParse('1000000000000000000').success).toBe(true);
    for (const bad of ['01', '-1', '1e18', '1.0', '', '9'.repeat(79)]) expect(Wei.safeParse(bad).success).toBe(false);
  });

  it('keeps terms flat but for their windows, and small', () => {
    expect(TermsJson.safeParse({ price: '1', duties: ['0x00'], windows: { start: 1 } }).success).toBe(true);
    expect(TermsJson.safeParse({ nested: { deeper: { still: 1 } } }).success).toBe(false);
    expect(TermsJson.safeParse(Object.fromEntries([...Array(65).keys()].map((i) => [`f${i}`, 1]))).success).toBe(false);
  });
});

describe('messages', () => {
  it('bounds the long poll', () => {
    const nodeId = '7f0e9e0c-3a1f-4d53-9a5c-2f8a5b1f9b10';
    expect(LeaseAcquire.safeParse({ auth, nodeId, waitMs: 10_000 }).success).toBe(true);
    expect(LeaseAcquire.safeParse({ auth, nodeId, waitMs: 10_001 }).success).toBe(false);
  });

  it('refuses control characters in names', () => {
    const node = {
      auth,
      name: 'a\nb',
      provider: `0x${'11'.repeat(20)}`,
      capabilities: { tee: 'none', cores: 1, memoryMiB: 1, version: '1' },
    };
    expect(NodeRegister.safeParse(node).success).toBe(false);
    expect(NodeRegister.safeParse({ ...node, name: 'ab' }).success).toBe(true);
  });

  it.each([0x202e, 0x200b, 0x2066, 0xfeff, 0xad, 0xe0001, 0xd800, 0xdfff])(
    'W-M3 refuses characters that hide or turn others in names and failures: %i',
    (point) => {
      const hidden = `official ${String.fromCodePoint(point)}node`;
      const capabilities = { tee: 'none', cores: 1, memoryMiB: 1, version: '1' };
      const node = { auth, name: hidden, provider: `0x${'11'.repeat(20)}`, capabilities };
      expect(NodeRegister.safeParse(node).success).toBe(false);
      const failure = {
        auth,
        leaseId: '11111111-1111-4111-8111-111111111111',
        fence: 1,
        code: 'A_CODE',
        detail: hidden,
        retry: false,
      };
      expect(LeaseFail.safeParse(failure).success).toBe(false);
      expect(LeaseFail.safeParse({ ...failure, detail: 'plain' }).success).toBe(true);
    },
  );

  it('refuses more borders than one commitment can carry', () => {
    const border = `0x${'00'.repeat(32)}`;
    const deliver = (count: number) => ({
      auth,
      leaseId: '7f0e9e0c-3a1f-4d53-9a5c-2f8a5b1f9b10',
      fence: 1,
      result: { blob: border, bytes: 1, ciphertextDigest: border, keyCommit: border },
      run: { upTo: 1, outcome: 0, bordersRoot: border, last: border, delivery: border, keys: border },
      seal: '',
      borders: Array(count).fill(border),
      receipts: [],
      timings: {},
      transactions: [],
    });
    expect(LeaseDeliver.safeParse(deliver(4001)).success).toBe(true);
    expect(LeaseDeliver.safeParse(deliver(4002)).success).toBe(false);
    for (const phase of ['\ud800', '\0', 'a\nb']) {
      expect(LeaseDeliver.safeParse({ ...deliver(4001), timings: { [phase]: 1 } }).success).toBe(false);
    }
  });
});

it('names every pattern in the permissions that a NATS server is given', () => {
  const covered = (name: string) =>
    dispatchSubjects.some((subject) => subject.replace('*', name.split('.')[1]!) === name);
  expect(Object.values(pattern).filter((name) => !covered(name))).toEqual([]);
});
