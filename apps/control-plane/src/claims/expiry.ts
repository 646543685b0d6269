import type { Config } from '../core/config/config.js';

/** Until when a lease or a claim holds that is made or prolonged now. */
export function expiryFrom(now: Date, { leaseSeconds }: Pick<Config, 'leaseSeconds'>): Date {
  return new Date(now.getTime() + 1000 * leaseSeconds);
}
