/** Which faults are injected and how often; every one that happens is counted. */
import type { Random } from './random.js';

export const faultKinds = [
  'node death',
  'node pause',
  'message dropped',
  'message duplicated',
  'message delayed',
  'answer dropped',
  'replica death',
  'statement failed',
  'statement stalled',
  'commit unknown',
  'clock jump',
  'chain reorganised',
  'chain away',
  'evidence refused',
  'renewal refused',
  'renewal late',
  'renewal repeated',
  'session outlived',
  'run failed',
  'claim outlived',
  'claim given back',
  'job cancelled',
  'job paused',
  'job retried',
  'node drained',
  'escrow missing',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export class Faults {
  readonly counts = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  /** Nothing more goes wrong after this is set: what is left must come to its end. */
  isOver = false;

  constructor(private readonly random: Random) {}

  strikes(kind: FaultKind, probability: number): boolean {
    if (this.isOver || !this.random.chance(probability)) return false;
    this.counts[kind] += 1;
    return true;
  }
}
