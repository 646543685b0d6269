/** A bond against a segment of a committed run: contracts/SPEC.md §7. */
import { Rejection } from '#attestation/base';
import { closingBond, type Terms } from '#attestation/records';
import type { SettlementClient, TxReceipt } from '#libs/settlement';

/** @throws Rejection ESCROW_NO_CHALLENGE where the terms close challenges; what the chain refuses */
export async function challengeSegment(
  { duties }: Pick<SettlementClient, 'duties'>,
  terms: Terms,
  segment: number,
): Promise<TxReceipt> {
  if (terms.bond !== closingBond) return duties.challenge(terms, segment);
  throw new Rejection('ESCROW_NO_CHALLENGE', {
    expected: 'terms that hear challenges',
    got: 'the bond that nobody can pay, of a job that was ordered with --on-lapse zk: nobody has proofs of its sealed run',
    rule: 'contracts/SPEC.md §7',
    action:
      'such a run is paid on its seal: where a key behind it was revoked, or its machine condemned, see `veritrain job unseal`',
  });
}
