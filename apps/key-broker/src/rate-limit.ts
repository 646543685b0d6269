/** How often one address may ask. What it limits is the work of the broker; challenges cost next to none and are not scarce. */
import { isIPv6 } from 'node:net';
import { CollateralError } from '#attestation/base';

interface Rate {
  /** Requests that may come at once. */
  readonly burst: number;
  readonly perSecond: number;
}

export interface RateLimit {
  /** @param atMs of a clock that goes forward @throws CollateralError RATE_LIMITED */
  take(address: string, atMs: number): void;
}

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

const addressesMax = 10_000;

export function createRateLimit(what: string, { burst, perSecond }: Rate): RateLimit {
  const buckets = new Map<string, Bucket>();
  return {
    take(address, atMs) {
      const group = groupOf(address);
      const { left, atMs: since } = buckets.get(group) ?? { left: burst, atMs };
      const filled = Math.min(burst, left + ((atMs - since) / 1000) * perSecond);
      if (filled < 1) throw limited(what, { burst, perSecond });
      buckets.delete(group);
      // The one that asked longest ago has had the most time to fill.
      if (buckets.size >= addressesMax) buckets.delete(buckets.keys().next().value!);
      buckets.set(group, { left: filled - 1, atMs });
    },
  };
}

/** A host has a whole /64 of IPv6. */
export function groupOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace(/^::ffff:/, '');
  const [head = '', tail = ''] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : [];
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}

function limited(what: string, { burst, perSecond }: Rate): CollateralError {
  return new CollateralError('RATE_LIMITED', {
    expected: `at most ${burst} ${what} at once and ${perSecond} a second from one address`,
    got: 'more',
    rule: 'key broker API',
    action: 'ask again in a few seconds',
  });
}
