/** What the escrow of a job looks like from outside: its state, who must prove what, and what was paid to whom. */
import { z } from 'zod';
import { isFormerJson, parseFormerTermsJson } from '#attestation/records';
import type { Job } from '#libs/persistence';
import type { ProjectedJob } from '#libs/settlement';
import { Hex32 } from '#libs/wire';
import { openJob } from '../jobs/open-job.js';

const Wei = z.string().regex(/^(0|[1-9][0-9]*)$/);
const Address = z.string().regex(/^0x[0-9a-f]{40}$/);

export const EscrowDuty = z
  .object({
    segment: z.int(),
    /** Account that challenged the segment; null: it was proved, or is due, without one. */
    challenger: Address.nullable(),
    /** Unix seconds of the chain; null: none was set for this segment by name. */
    deadline: z.int().nullable(),
    bondWei: Wei,
    proved: z.boolean(),
  })
  .meta({ id: 'EscrowDuty' });

export const EscrowPayment = z
  .object({
    kind: z.enum(['voucher', 'prefix', 'bond', 'fee', 'deposit', 'end']),
    to: z.enum(['provider', 'client', 'challenger', 'treasury']),
    amountWei: Wei,
    transaction: z.string(),
    blockNumber: z.int(),
  })
  .meta({ id: 'EscrowPayment' });

/** All segments are due, or a sample of them: deadline of the proofs, or of the draw. */
export const EscrowSetDue = z.object({ all: z.boolean(), deadline: z.int() });
export const EscrowSample = z.object({ seed: z.string(), fromBlock: z.boolean(), deadline: z.int() });

export const EscrowView = z
  .object({
    escrowId: Hex32,
    /** As of the last block with its confirmations. */
    state: z.string(),
    fundedWei: Wei,
    paidWei: Wei,
    client: Address,
    provider: Address,
    segments: z.int(),
    /** Segments of the committed run; 0 before. */
    upTo: z.int(),
    proved: z.int(),
    root: z.string().nullable(),
    sealedBy: Address.nullable(),
    escalated: z.boolean(),
    setDue: EscrowSetDue.nullable(),
    sample: EscrowSample.nullable(),
    duties: z.array(EscrowDuty),
    payments: z.array(EscrowPayment),
    transaction: z.string().nullable(),
  })
  .meta({ id: 'Escrow' });
export type EscrowView = z.infer<typeof EscrowView>;

/** @param projected  of the stored events; null: the chain has none of this escrow */
export function escrowView(job: Job, projected: ProjectedJob | null): EscrowView {
  const terms = isFormerJson(job.terms) ? parseFormerTermsJson(job.terms) : openJob(job).terms;
  const { client, provider } = job.terms as { client: string; provider: string };
  const known = { escrowId: job.escrowId, client, segments: terms.segments };
  if (projected === null) {
    return {
      ...known,
      ...{ state: 'none', fundedWei: '0', paidWei: '0', provider, upTo: 0, proved: 0, root: null, sealedBy: null },
      ...{ escalated: false, setDue: null, sample: null, duties: [], payments: [], transaction: null },
    };
  }
  const { state, price, paid, upTo, root, sealedBy, escalated, setDue, sample, transaction } = projected;
  const duties = [...projected.duties.values()].sort((a, b) => a.segment - b.segment);
  return {
    ...known,
    ...{ state: state.toLowerCase(), fundedWei: String(price), paidWei: String(paid) },
    provider: projected.provider,
    ...{ upTo, proved: duties.filter(({ proved }) => proved).length, root, sealedBy, escalated, setDue, sample },
    duties: duties.map(({ bond, ...duty }) => ({ ...duty, bondWei: String(bond) })),
    payments: projected.payments.flatMap((payment) => split(payment, terms.bondFee)),
    transaction,
  };
}

/** Of a bond that a proof has earned the treasury keeps the fee. */
function split({ amount, ...payment }: ProjectedJob['payments'][number], bondFee: bigint): EscrowView['payments'] {
  if (payment.kind !== 'bond' || payment.to !== 'provider') return [{ ...payment, amountWei: String(amount) }];
  return [
    { ...payment, amountWei: String(amount - bondFee) },
    { ...payment, kind: 'fee', to: 'treasury', amountWei: String(bondFee) },
  ];
}
