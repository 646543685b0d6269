/** What a simulation is audited for. */
export const invariants = [
  'every job ends',
  'states follow the table',
  'every transition has its outbox row and audit entry',
  'every outbox row was published',
  'fences rise by one with every lease',
  'no lease outlives its job',
  'only the holder of the newest fence has effect',
  'receipts make one chain without gap',
  'what a session signs after its attestation has no effect',
  'a renewal only prolongs',
  'one delivery, by the last holder',
  'one payment, for the delivery that is stored',
  'the weights are those of an undisturbed run',
  'a segment of a round counts once, from its newest claim',
  'a round is over the partials that are stored',
  'a proof counts once, from its newest claim',
  'nothing is paid unproved',
  'no acknowledged write is lost',
  'no unforeseen failure',
] as const;
export type Invariant = (typeof invariants)[number];

export interface Violation {
  readonly invariant: Invariant;
  readonly jobId: string | null;
  readonly detail: string;
}
