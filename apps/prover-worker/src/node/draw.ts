/** This node's part in the draw of a sample: contracts/SPEC.md §8. */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { JsonRpcApiProvider } from 'ethers';
import { concatBytes, utf8 } from '#attestation/base';
import { escrowIdOf, JobMode, type Terms } from '#attestation/records';
import { latestBlock, type JobView, type SettlementClient } from '#libs/settlement';

export function isSampled({ mode }: Terms): boolean {
  return (mode & JobMode.sample) !== 0;
}

/** Committed to with the acceptance, shown with the run: from the account's secret, so that no node of it can lose it. */
export function drawSeed(accountSecret: Uint8Array, terms: Terms): Uint8Array {
  return hmac(sha256, accountSecret, concatBytes(utf8('veritrain/sample-seed/v1'), escrowIdOf(terms)));
}

/** The client kept its seed: a block decides, once its window has passed. @returns whether it has */
export async function drawInstead(
  client: SettlementClient,
  rpc: JsonRpcApiProvider,
  terms: Terms,
  { drawUntil }: JobView,
): Promise<boolean> {
  const { timestamp } = await latestBlock(rpc);
  if (timestamp <= drawUntil) return false;
  await client.duties.drawFallback(terms);
  return true;
}
