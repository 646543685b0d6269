/**
 * The way out of an escrow that the client can take now (contracts/SPEC.md §6): whoever was silent, nobody's money
 * stays.
 */
import { Rejection } from '#attestation/base';
import { type Terms } from '#attestation/records';
import { exitOf, type ExitCall, type SettlementClient, type TxReceipt } from '#libs/settlement';

interface TakenExit {
  readonly call: ExitCall;
  readonly receipt: TxReceipt;
}

/**
 * @param at  unix seconds of the chain
 * @throws Rejection ESCROW_NO_EXIT with the time from which there is one, or because there is none
 */
export async function exitEscrow(escrow: SettlementClient, terms: Terms, at: number): Promise<TakenExit> {
  const job = await escrow.job(terms);
  const exit = exitOf(terms, job);
  if (exit === null) throw noExit('an escrow that waits for its other side', job.state);
  const { call, after } = exit;
  if (call !== 'cancel' && at <= after) {
    throw noExit(
      `a time after ${new Date(1000 * after).toISOString()}`,
      `${job.state}, and the other side has time left`,
    );
  }
  return { call, receipt: await escrow[call](terms) };
}

function noExit(expected: string, got: string): Rejection {
  return new Rejection('ESCROW_NO_EXIT', {
    expected,
    got,
    rule: 'contracts/SPEC.md §6',
    action: 'wait, or see `veritrain job settle` and `veritrain job withdraw`',
  });
}
