/** Signed statements as the API writes them. */
import { toHex } from '#attestation/base';
import { type Appraisal, type Lease, type Release } from '#attestation/records';
import type { VouchedResult } from './judge.js';

export function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** Members as the struct names them, in any order. */
export function statement(said: Release | Lease | Appraisal): Record<string, string | number> {
  const members = Object.entries(said) as [string, Uint8Array | number][];
  return Object.fromEntries(members.map(([name, value]) => [name, value instanceof Uint8Array ? hex(value) : value]));
}

/** The verdict, and what it rested on. */
export function verdict({ signed, signature, endorsements }: VouchedResult): Record<string, string> {
  return { result: base64(signed), resultSignature: hex(signature), endorsements: base64(endorsements) };
}

export function now(): number {
  return Math.floor(Date.now() / 1000);
}
