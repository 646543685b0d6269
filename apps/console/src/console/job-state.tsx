/** The state of a job, for people. Green is kept for verdicts: what was paid need not hold. */
import { State } from '../ui/state.js';

const shown: Readonly<Record<string, readonly [kind: string, mark: string, word: string]>> = {
  submitted: ['open', '○', 'waiting'],
  paused: ['open', '‖', 'paused'],
  assigned: ['live', '●', 'assigned'],
  attested: ['live', '●', 'attested'],
  keyed: ['live', '●', 'has its key'],
  running: ['live', '●', 'training'],
  delivered: ['live', '◆', 'delivered'],
  settled: ['done', '✓', 'paid'],
  refused: ['refused', '✕', 'refused'],
  failed: ['refused', '✕', 'failed'],
  expired: ['refused', '✕', 'expired'],
  cancelled: ['open', '–', 'cancelled'],
  disputed: ['refused', '✕', 'disputed'],
};

export function JobState({ state }: { readonly state: string }) {
  const [kind, mark, word] = shown[state] ?? ['open', '·', state];
  return <State kind={kind} mark={mark} word={word} />;
}

/** Beside whatever simulated hardware vouches for. */
export const Simulated = () => <State kind="warned" mark="!" word="SIMULATED" />;

export const jobStates = Object.keys(shown);
export const wordOf = (state: string): string => shown[state]?.[2] ?? state;
export const isEnd = (state: string): boolean =>
  ['settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'].includes(state);
export const isAtWork = (state: string): boolean => ['assigned', 'attested', 'keyed', 'running'].includes(state);
/** It has trained to its end, or to where a rule ended it. */
export const isDelivered = (state: string): boolean => state === 'delivered' || state === 'settled';
