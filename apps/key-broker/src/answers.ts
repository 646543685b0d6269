/** Signed statements as the API writes them. */
import { to0x, toBase64 } from '#attestation/base';
import { type Appraisal, type Lease, type Release } from '#attestation/records';
import type { VouchedResult } from './judge.js';

/** Members as the struct names them, in any order. */
export function statement(said: Release | Lease | Appraisal): Record<string, string | number> {
  const members = Object.entries(said) as [string, Uint8Array | number][];
  return Object.fromEntries(members.map(([name, value]) => [name, value instanceof Uint8Array ? to0x(value) : value]));
}

/** The verdict, and what it rested on. */
export function verdict({ signed, signature, endorsements }: VouchedResult): Record<string, string> {
  return { result: toBase64(signed), resultSignature: to0x(signature), endorsements: toBase64(endorsements) };
}

export function now(): number {
  return Math.floor(Date.now() / 1000);
}
