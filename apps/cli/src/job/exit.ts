/** The way out of an escrow that the client can take now (settlement §6): whoever was silent, nobody's money stays. */
import { Rejection, type Terms } from '#attestation';
import type { SettlementClient, TxReceipt } from '#libs/settlement';

export interface Exit {
  readonly call: 'cancel' | 'abort' | 'abandon' | 'undelivered';
  readonly receipt: TxReceipt;
}

/**
 * @param at  unix seconds of the chain
 * @throws Rejection ESCROW_NO_EXIT with the time from which there is one, or because it has ended
 */
export async function exitEscrow(escrow: SettlementClient, terms: Terms, at: number): Promise<Exit> {
  const { state, since, ackUntil } = await escrow.job(terms);
  const { windows } = terms;
  switch (state) {
    case 'Open':
      return { call: 'cancel', receipt: await escrow.cancel(terms) };
    case 'Accepted':
      after(since + windows.start, at, state);
      return { call: 'abort', receipt: await escrow.abort(terms) };
    case 'Started':
      after(since + windows.compute, at, state);
      return { call: 'abandon', receipt: await escrow.abandon(terms) };
    case 'Committed':
      after(Math.max(since, ackUntil) + windows.reveal, at, state);
      return { call: 'undelivered', receipt: await escrow.undelivered(terms) };
    case 'None':
    case 'Settled':
    case 'Stopped':
    case 'Aborted':
    case 'Abandoned':
    case 'Undelivered':
    case 'Slashed':
    case 'Voided':
      throw noExit('an escrow that is still open', state);
  }
}

function after(until: number, at: number, state: string): void {
  if (at <= until)
    throw noExit(`a time after ${new Date(1000 * until).toISOString()}`, `${state}, and the other side has time left`);
}

function noExit(expected: string, got: string): Rejection {
  return new Rejection('ESCROW_NO_EXIT', {
    expected,
    got,
    rule: 'settlement §6',
    action: 'wait, or see `veritrain job withdraw`',
  });
}
