import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Rejection, toHex } from '#attestation/base';
import { ciphertextDigest, decodeTerms, encodeTerms, escrowIdOf, keyCommitment } from '#attestation/records';
import type { SettlementClient } from '#libs/settlement';
import { teeTerms } from '#test/escrow-terms';
import { movesOf } from './moves.js';
import type { PendingResult } from './pending.js';

const word = (n: number) => new Uint8Array(32).fill(n);
const address = (n: number) => new Uint8Array(20).fill(n);
const terms = teeTerms({
  ...{ client: address(1), provider: address(7), keyBroker: address(2), specDigest: word(3), initialWeights: word(4) },
  ...{ policy: word(5), segments: 1, seedCommitClient: word(6), acceptBy: 4_000_000_000, windows: { start: 1 } },
});
const ciphertext = Uint8Array.of(2, 3);

let isRefusing: boolean;
let log: string[];
let shown: unknown[];
const broker = createServer((request, response) => {
  request.resume();
  log.push(`${request.method} ${request.url!.replace(/0x[0-9a-f]{64}/, 'JOB')}`);
  if (isRefusing) return void response.writeHead(403).end('{"code":"BROKER_ESCROW"}');
  const said = { signature: `0x${'01'.repeat(65)}`, account: `0x${'02'.repeat(20)}`, until: 9 };
  response.end(JSON.stringify({ ...said, missing: request.url!.endsWith('/0') ? [] : [0] }));
});
let held: PendingResult;
beforeAll(async () => {
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  held = {
    ...{ version: 2, jobId: word(9), lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    brokerUrl: `http://127.0.0.1:${(broker.address() as { port: number }).port}`,
    ...{ key: address(8), told: true, stored: false, receipts: [] },
    result: {
      ...{ ciphertext, revealKey: word(10), borders: [word(1), word(2)], keys: [address(8)], seal: word(1) },
      run: { upTo: 1, outcome: 0, bordersRoot: word(1), last: word(2), delivery: word(3), keys: word(4) },
    },
  };
});
afterAll(() => void broker.close());
beforeEach(() => {
  [isRefusing, log, shown] = [false, [], []];
});

const called =
  (name: string) =>
  async (...said: unknown[]) => {
    log.push(name);
    shown.push(said);
  };
let finalize = called('finalize');
const escrow = {
  ...{ commit: called('commit'), resign: called('resign') },
  finalize: (...said: unknown[]) => finalize(...said),
  delivery: { available: called('available'), publish: called('publish'), published: called('published') },
} as unknown as SettlementClient;
const moves = movesOf({
  ...{ escrow, address: '0x', withStake: (work) => work() },
  ciphertexts: { whole: (given) => given as Uint8Array },
  proofs: {} as never,
  settings: { brokers: undefined, escrow: {} as never },
});
const ofDelivery = [terms, ciphertextDigest(ciphertext), keyCommitment(word(10))];

describe('S-H3 a client that misses the ciphertext', () => {
  const storing = ['PUT /v1/results/JOB', 'PUT /v1/results/JOB/0'];

  it('S-H3 is told by the key broker, which has every piece, that it can be had', async () => {
    expect(await moves.move(held, terms, 'answer')).toBe('answer');
    expect(log).toEqual([...storing, 'POST /v1/availability', 'available']);
    const signatures = [{ signer: address(2), signature: new Uint8Array(65).fill(1) }];
    expect(shown).toEqual([[...ofDelivery, { until: 9, signatures }]]);
  });

  it('S-H3 finds it on chain where the broker refuses', async () => {
    isRefusing = true;
    await moves.move(held, terms, 'answer');
    expect(log).toEqual(['PUT /v1/results/JOB', 'publish', 'published']);
    expect(shown).toEqual([[ciphertext], ofDelivery]);
  });

  it('S-H3 finds it on chain when it complains again, whatever the broker would say', async () => {
    await moves.move(held, terms, 'publish');
    expect(log).toEqual(['publish', 'published']);
  });

  it('S-H3 need not miss it: it is with the broker before', async () => {
    expect(await moves.move(held, terms, 'store')).toBe('store');
    expect(log).toEqual(storing);
  });
});

describe('the key', () => {
  it('is shown with the digest of the pieces, and waits while the chain could still turn back', async () => {
    finalize = called('finalize');
    expect(await moves.move(held, terms, 'finalize')).toBe('finalize');
    expect(shown).toEqual([[terms, { ciphertextDigest: ciphertextDigest(ciphertext), key: word(10) }]]);
    finalize = async () => {
      throw new Rejection('CHAIN_NOT_FINAL', { expected: 'a', got: 'b', rule: 'test' });
    };
    expect(await moves.move(held, terms, 'finalize')).toBe('wait');
  });

  it('S-M12 stays closed where the seal was taken away', async () => {
    finalize = called('finalize');
    await moves.move(held, terms, 'unsealed');
    expect([log, shown]).toEqual([['finalize'], [[terms]]]);
  });
});

it('N2 commits with every key behind the borders', async () => {
  await moves.move(held, terms, 'commit');
  expect(toHex(escrowIdOf(decodeTerms(held.terms)))).toBe(toHex(escrowIdOf(terms)));
  expect(shown).toEqual([[terms, expect.objectContaining({ keys: [address(8)], seal: word(1), outcome: 0 })]]);
});

it('makes the move besides, whatever becomes of the first', async () => {
  finalize = async () => {
    throw new Error('refused');
  };
  await expect(moves.move(held, terms, 'unsealed', 'resign')).rejects.toThrow('refused');
  expect(log).toEqual(['resign']);
});

it('resigns without a result', async () => {
  await moves.move({ ...held, result: null }, terms, 'resign');
  expect(log).toEqual(['resign']);
});
