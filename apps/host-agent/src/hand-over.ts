/** From a result on disk to its money: told to the control plane, committed, revealed, taken out. */
import { CollateralError, Rejection, to0x, toBase64, toHex } from '#attestation/base';
import { bringsResult, keyCommitment } from '#attestation/records';
import { type CipherStore, type ControlPlane, note } from '#libs/node';
import { LeaseRestored, pattern } from '#libs/wire';
import { bytesOf, digestOf } from './ciphertexts.js';
import type { Move } from './next-move.js';
import { keepNextProof } from './owed-proofs.js';
import { ciphertextOf, hasResult, type PendingEscrow, type PendingEscrows, type PendingResult } from './pending.js';
import type { Provider } from './provider.js';
import type { Transaction } from './registration.js';

export interface HandOverParts {
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  readonly provider: Provider;
  readonly pending: PendingEscrows;
}

interface Account {
  /** Seconds by phase. */
  readonly timings: Readonly<Record<string, number>>;
  readonly transactions: readonly Transaction[];
}

const nothingToAdd: Account = { timings: {}, transactions: [] };

/**
 * To the control plane first, and to the chain what it has taken: the job may have been given to another machine of this
 * account meanwhile, and a run on chain whose delivery nobody hands out is never paid. What was not taken stays on disk;
 * the collection goes on with it, and commits it in any case before the time is up.
 *
 * @param complete  the same with the receipts that the control plane was not given, when all that came before was told
 */
export async function handOver(
  result: PendingResult,
  complete: Promise<PendingResult>,
  parts: HandOverParts,
  account: Account,
): Promise<void> {
  await complete.then((whole) => deliver(whole, parts, account)).catch((error: unknown) => note('deliver', error));
  const now = parts.pending.find(toHex(result.jobId));
  if (now?.lease.leaseId === result.lease.leaseId && now.told === true) await parts.provider.commit(result);
}

/**
 * The run left its declared range: the chain is told under seal so that the client is refunded at once. One that owes proofs which
 * are missing is not committed; the collection resigns it.
 */
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
 * control plane again is harmless; where it has given the job away, its next lease goes on from the disk, and where the
 * chain has this run, no other is taken any more.
 * @returns which it was; 'keep': a proof that the run owes is on this disk now
 * @throws CollateralError DELIVERY_REFUSED while the control plane does not take what the chain has; what `keepNextProof` throws
 */
export async function collectEscrow(jobId: string, nodeId: string, parts: HandOverParts): Promise<Move | 'keep'> {
  const escrow = parts.pending.find(jobId);
  if (escrow === null) return 'end';
  const isRepeated = escrow.told === 'refused' && hasResult(escrow) && (await parts.provider.hasCommitted(escrow));
  const isDue = hasResult(escrow) && (escrow.told === false || isRepeated);
  const delivered = isDue ? deliver(escrow, parts, nothingToAdd) : Promise.resolve();
  delivered.catch(() => undefined);
  const move = await parts.provider.collect(escrow);
  if (move === 'store') markStored(escrow, parts);
  if (move === 'end') {
    parts.pending.remove(jobId);
    return move;
  }
  await delivered;
  if (isRepeated && parts.pending.find(jobId)?.told === 'refused') throw refused();
  const isKept = await keepNextProof(escrow, nodeId, parts);
  return isKept && move === 'wait' ? 'keep' : move;
}

function markStored({ jobId, lease }: PendingEscrow, { pending }: HandOverParts): void {
  const now = pending.find(toHex(jobId));
  if (now?.lease.leaseId === lease.leaseId) pending.save({ ...now, stored: true });
}

/** After a start: a control plane that was restored from a backup may have forgotten what it was told. */
export function tellAgain(pending: PendingEscrows): void {
  for (const jobId of pending.jobs()) {
    try {
      const escrow = pending.find(jobId);
      if (escrow !== null && hasResult(escrow)) pending.save({ ...escrow, told: false });
    } catch (error) {
      note(`pending ${jobId}`, error);
    }
  }
}

/** @throws CollateralError when another try may help; a refusal is noted and stands until the next lease, or the commit */
async function deliver(escrow: PendingResult, parts: HandOverParts, account: Account): Promise<void> {
  const isWorth = bringsResult(escrow.result.run);
  let told: true | 'refused' = true;
  try {
    if (isWorth) await sendKnown(escrow, parts, account);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    told = 'refused';
    note('deliver', error);
  }
  const now = parts.pending.find(toHex(escrow.jobId));
  // Another lease may have taken it over meanwhile.
  if (now?.lease.leaseId === escrow.lease.leaseId) parts.pending.save({ ...now, told });
}

function refused(): CollateralError {
  return new CollateralError('DELIVERY_REFUSED', {
    expected: 'the control plane to take the delivery of the run that the chain has',
    got: 'a refusal',
    rule: 'host agent README, delivery',
    action: 'wait until it has read the chain; where it was restored from before this lease, see the runbook',
  });
}

/** A control plane that was restored from before this lease is told once more what let its session in. */
async function sendKnown(escrow: PendingResult, parts: HandOverParts, account: Account): Promise<void> {
  try {
    await send(escrow, parts, account);
  } catch (error) {
    const session = parts.pending.sessionOf(escrow);
    if (session === null || !(error instanceof Rejection && error.code === 'LEASE_UNKNOWN')) throw error;
    const { nodeId, evidence, endorsements, release } = session;
    const run = { jobId: to0x(escrow.jobId), nodeId, delivery: to0x(escrow.result.run.delivery) };
    const shown = { evidence, endorsements, release };
    const answer = await parts.controlPlane.send(pattern.leaseRestore, { ...escrow.lease, ...run, ...shown });
    const { fence } = LeaseRestored.parse(answer);
    await send({ ...escrow, lease: { ...escrow.lease, fence } }, parts, account);
  }
}

async function send(
  escrow: PendingResult,
  { store, controlPlane, pending }: HandOverParts,
  { timings, transactions }: Account,
): Promise<void> {
  const { lease, result, receipts, evaluations = [] } = escrow;
  const { revealKey, run, seal, borders } = result;
  const ciphertext = ciphertextOf(escrow);
  const blob = await pending.ciphertexts.put(ciphertext, store);
  const { upTo, outcome, bordersRoot, last, delivery, keys } = run;
  const delivered = { ciphertextDigest: to0x(digestOf(ciphertext)), keyCommit: to0x(keyCommitment(revealKey)) };
  await controlPlane.send(pattern.leaseDeliver, {
    ...lease,
    result: { blob, bytes: bytesOf(ciphertext), ...delivered },
    run: {
      upTo,
      outcome,
      bordersRoot: to0x(bordersRoot),
      last: to0x(last),
      delivery: to0x(delivery),
      keys: to0x(keys),
    },
    seal: toBase64(seal),
    borders: borders.map(to0x),
    receipts: receipts.map(({ statement, receipt }) => ({
      statement: toBase64(statement),
      receipt: toBase64(receipt),
    })),
    ...(evaluations.length > 0 && {
      evaluations: evaluations.map(({ key, statement, receipt }) => ({
        ...{ key: to0x(key), statement: toBase64(statement), receipt: toBase64(receipt) },
      })),
    }),
    timings,
    transactions,
  });
}
