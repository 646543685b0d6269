/** This node's part in the draw of a sample: contracts/SPEC.md §8. */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { JsonRpcApiProvider } from 'ethers';
import { concatBytes, utf8 } from '#attestation/base';
import { escrowIdOf, JobMode, type Terms } from '#attestation/records';
import { isEnded, latestBlock, sampleOf, type JobView, type SettlementClient } from '#libs/settlement';

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

/** What a run owes, as the chain says. */
export interface Due {
  /** Segments that are due, proved or not. */
  readonly segments: readonly number[];
  /** Those whose proof the chain lacks. */
  readonly owed: readonly number[];
  /** Some are owed, or may yet be: the draw is to come. */
  readonly isOpen: boolean;
  /** They have been due for longer than the patience. */
  readonly isUrgent: boolean;
}

/**
 * Of a job with a run. The chain's word alone: nobody else bears the loss. Of one block, for an endpoint's nodes may be at
 * different ones, and what they say together may be true of none.
 */
export async function dueOf(
  client: SettlementClient,
  rpc: JsonRpcApiProvider,
  terms: Terms,
  patienceSeconds: number,
): Promise<Due> {
  const { number, timestamp } = await latestBlock(rpc);
  const view = await client.job(terms, number);
  const isOpen = isAwaited(view);
  if (isOpen || isEnded(view.state) || view.upTo === 0) {
    return { segments: [], owed: [], isOpen, isUrgent: false };
  }
  const segments = dueSegments(terms, view);
  const proved = await Promise.all(segments.map((segment) => client.duties.isProved(terms, segment)));
  const owed = segments.filter((_, at) => !proved[at]).sort((a, b) => a - b);
  const { prove, provePer } = terms.windows;
  const dueSince = view.setDeadline - prove - (view.allDue ? view.upTo : terms.samples) * provePer;
  return { segments, owed, isOpen: owed.length > 0, isUrgent: timestamp > dueSince + patienceSeconds };
}

/** The commit is to come, or the draw. A run that owes neither all nor a sample is none: a part of the answer is older. */
function isAwaited({ state, upTo, unsealed, allDue, sampleDue, drawn }: JobView): boolean {
  if (state !== 'Committed') return !isEnded(state);
  return sampleDue ? !drawn : !allDue && upTo > 0 && !unsealed;
}

function dueSegments({ samples }: Terms, { allDue, drawn, upTo, seed }: JobView): readonly number[] {
  if (allDue) return Array.from({ length: upTo }, (_, segment) => segment);
  return drawn ? [...new Set(sampleOf(seed, samples, upTo))] : [];
}
