/** Where webhooks may go: public unicast addresses and nowhere else, looked at when one is made and when one is sent. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../src/webhooks/public-address.js';
import { post } from '../src/webhooks/post.js';
import { startTestPlane, type TestPlane } from './harness.js';

/** IANA's special-purpose registries and multicast, as bits; written down apart from the code. */
const closed4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
const closed6 = [
  ...['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '100:0:0:1::/64'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20', '5f00::/16', 'fc00::/7'],
  ...['fe80::/10', 'fec0::/10', 'ff00::/8', '4000::/3', '8000::/3', 'c000::/3'],
];

function bitsOf4(text: string): bigint {
  return text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function bitsOf6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const all =
    tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

const text4 = (bits: bigint) => [24n, 16n, 8n, 0n].map((by) => String((bits >> by) & 255n)).join('.');
const text6 = (bits: bigint) =>
  Array.from({ length: 8 }, (_, at) => ((bits >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(':');

const rangesOf = (list: readonly string[], size: 32 | 128) =>
  list.map((range) => {
    const [net, prefix] = range.split('/') as [string, string];
    const free = BigInt(size - Number(prefix));
    return { range, first: (size === 32 ? bitsOf4(net) : bitsOf6(net)) >> free, free };
  });
const ranges4 = rangesOf(closed4, 32);
const ranges6 = rangesOf(closed6, 128);
const isIn = (ranges: typeof ranges4, bits: bigint) => ranges.some(({ first, free }) => bits >> free === first);

describe('addresses', () => {
  it.each([
    ...ranges4.map((range) => ({ ...range, text: text4 })),
    ...ranges6.map((range) => ({ ...range, text: text6 })),
  ])('W-M1 none of $range is public', ({ first, free, text }) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << free) - 1n }), (rest) => {
        expect(isPublicAddress(text((first << free) | rest))).toBe(false);
      }),
      { seed: 13, numRuns: 60, examples: [[0n], [(1n << free) - 1n]] },
    );
  });

  it('W-M1 every other address of IPv4, and of 2000::/3, is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), (bits) => {
        expect(isPublicAddress(text4(bits))).toBe(!isIn(ranges4, bits));
      }),
      { seed: 13, numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), (bits) => {
        expect(isPublicAddress(text6(bits))).toBe(bits >> 125n === 1n && !isIn(ranges6, bits));
      }),
      { seed: 13, numRuns: 2000, examples: [[bitsOf6('2606:4700::1111')], [bitsOf6('2a00:1450:4001::200e')]] },
    );
    for (const other of ['', 'localhost', '1.1.1', '2606:4700::1111%eth0/64'])
      expect(isPublicAddress(other)).toBe(false);
  });
});

describe('targets', () => {
  let test: TestPlane;
  beforeAll(async () => {
    test = await startTestPlane({ webhookTargets: 'public' });
  });
  afterAll(async () => test.stop());

  const literal = [
    ...['127.0.0.1', '2130706433', '0x7f.1', '0', '10.0.0.1', '169.254.169.254', '[::1]', '[::]', '[::7f00:1]'],
    ...['[::a00:1]', '[::ffff:127.0.0.1]', '[::ffff:0:7f00:1]', '[fec0::1]', '[fe80::1]', '[fd00::1]', '[3fff::1]'],
    ...['[5f00::1]', '[64:ff9b::a00:1]', '[2002:a00:1::]', 'localhost', 'LOCALHOST.', 'a.localhost'],
  ];

  it.each(literal)('W-M1 %s is refused when the webhook is made, and when it is sent', async (host) => {
    const answer = await test.as('client').post('/v1/webhooks', { url: `https://${host}:24443/hook` });
    expect(answer.body).toMatchObject({ code: 'WEBHOOK_TARGET', status: 422 });
    const sent = post({ url: `http://${host}:24443/hook`, headers: {}, body: '{}', mayBePrivate: false });
    await expect(sent).rejects.toMatchObject({ code: 'WEBHOOK_TARGET' });
  });

  it('W-M1 public addresses and names are taken', async () => {
    for (const host of ['1.1.1.1', '[2606:4700::1111]', 'hooks.example.org']) {
      await test
        .as('client')
        .post('/v1/webhooks', { url: `https://${host}/hook` })
        .expect(201);
    }
  });
});
