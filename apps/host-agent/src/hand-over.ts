/** From a result on disk to its money: told to the control plane, committed, revealed, taken out. */
import { setTimeout as sleep } from 'node:timers/promises';
import { keyCommitment, Rejection, toHex } from '#attestation';
import { pattern } from '#libs/messaging';
import type { ControlPlane } from './control-plane.js';
import { note } from './note.js';
import { hasResult, type PendingEscrows, type PendingResult } from './pending.js';
import type { Provider, Transaction } from './provider.js';
import type { CipherStore } from './store.js';

export interface HandOverParts {
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  readonly provider: Provider;
  readonly pending: PendingEscrows;
}

export interface Account {
  /** Seconds by phase. */
  readonly timings: Readonly<Record<string, number>>;
  readonly transactions: readonly Transaction[];
}

const nothingToAdd: Account = { timings: {}, transactions: [] };
/** How long the chain waits for the control plane, which should have the ciphertext first: its windows go on. */
const deliverFirstMs = 60_000;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

/**
 * To the control plane first, so that the client has the ciphertext before the chain asks for it; but committed in any
 * case: what could not be delivered is delivered later, from the disk.
 *
 * @param complete  the same with its receipts, when all that came before it was told
 */
export async function handOver(
  result: PendingResult,
  complete: Promise<PendingResult>,
  parts: HandOverParts,
  account: Account,
): Promise<void> {
  const delivered = complete
    .then((whole) => deliver(whole, parts, account))
    .catch((error: unknown) => note('deliver', error));
  const inTime = new AbortController();
  await Promise.race([delivered, sleep(deliverFirstMs, null, inTime).catch(() => null)]);
  inTime.abort();
  await parts.provider.commit(result);
  await delivered;
}

/** The run left its declared range: the chain is told under seal so that the client is refunded at once. */
export async function tellStopped(
  result: PendingResult,
  { provider, controlPlane }: HandOverParts,
  detail: string,
  place: { readonly step?: number; readonly tensor?: string } = {},
): Promise<void> {
  await provider.commit(result);
  const failure = { code: 'GUARD_VIOLATION', detail, ...place, retry: false };
  await controlPlane.send(pattern.leaseFail, { ...result.lease, ...failure });
}

/**
 * The next step for an escrow that no lease works on: after a restart, or after the chain forgot it. Telling the
 * control plane again is harmless; where it has given the job away, its next lease goes on from the disk.
 */
export async function collectEscrow(jobId: string, parts: HandOverParts): Promise<void> {
  const escrow = parts.pending.find(jobId);
  if (escrow === null) return;
  const delivered = hasResult(escrow) && !escrow.told ? deliver(escrow, parts, nothingToAdd) : Promise.resolve();
  delivered.catch(() => undefined);
  if ((await parts.provider.collect(escrow)) === 'end') return parts.pending.remove(jobId);
  await delivered;
}

/** @throws CollateralError when another try may help; a refusal is noted and stands until the next lease */
async function deliver(escrow: PendingResult, parts: HandOverParts, account: Account): Promise<void> {
  const isWorth = escrow.result.run.outcome === 0;
  try {
    if (isWorth) await send(escrow, parts, account);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    note('deliver', error);
  }
  const now = parts.pending.find(toHex(escrow.jobId));
  // Another lease may have taken it over meanwhile.
  if (now?.lease.leaseId === escrow.lease.leaseId) parts.pending.save({ ...now, told: true });
}

async function send(
  { lease, result, receipts }: PendingResult,
  { store, controlPlane }: HandOverParts,
  { timings, transactions }: Account,
): Promise<void> {
  const { ciphertext, revealKey, run, seal, borders } = result;
  const blob = await store.putBlob(ciphertext);
  const { upTo, outcome, bordersRoot, last, delivery } = run;
  await controlPlane.send(pattern.leaseDeliver, {
    ...lease,
    result: { blob, bytes: ciphertext.length, keyCommit: hex(keyCommitment(revealKey)) },
    run: { upTo, outcome, bordersRoot: hex(bordersRoot), last: hex(last), delivery: hex(delivery) },
    seal: base64(seal),
    borders: borders.map(hex),
    receipts: receipts.map(({ statement, receipt }) => ({ statement: base64(statement), receipt: base64(receipt) })),
    timings,
    transactions,
  });
}
