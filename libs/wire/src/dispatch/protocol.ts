/**
 * Which dispatch protocol a process speaks. Messages of one number only ever gain optional members; a change that an
 * older reader would misunderstand takes the next number. Each side takes its own number and its neighbours, of which the
 * newer side knows what the older one expects: control plane and nodes can be upgraded in any order, one at a time.
 */
import { z } from 'zod';

/**
 * 2: a node says which leases it holds when it asks for another. 4: sessions, releases and renewals are told as the terms'
 * broker signed them; no number lies between, for neither side could serve the other.
 */
export const protocolVersion = 4;

export const ProtocolNumber = z.int().min(1).max(65_535);

export function isSpoken(protocol: number): boolean {
  return Math.abs(protocol - protocolVersion) <= 1;
}
