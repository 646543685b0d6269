import { expect, it } from 'vitest';
import { jobStates } from '#libs/settlement';
import { summarise, triggerOf } from './escrow-projection.js';

const word = (byte: string): string => `0x${byte.repeat(32)}`;
const event = (name: string, data: Record<string, unknown>) => ({
  name,
  data,
  transaction: word('aa'),
  blockNumber: 1,
});

/** Of an escrow whose run was committed with `outcome` and ended in `state`. */
function stateAfter(outcome: number, state: (typeof jobStates)[number]): string {
  const amounts = { toProvider: '1', toClient: '1', toChallenger: '0', burnt: '0' };
  const named = { client: word('01'), provider: word('02'), token: word('00'), price: '2' };
  return summarise([
    event('JobOpened', named),
    event('JobAccepted', named),
    event('JobStarted', {}),
    event('JobCommitted', {
      outcome,
      borders: [word('03'), word('04')],
      root: word('05'),
      delivery: word('06'),
      keys: [],
    }),
    event('JobEnded', { state: jobStates.indexOf(state), ...amounts }),
  ]).state;
}

it('a run that its rule stopped is paid for: the job is settled', () => {
  expect(stateAfter(3, 'Stopped')).toBe('settled');
  expect(triggerOf('delivered', 'settled')).toBe('settle');
  expect(stateAfter(0, 'Settled')).toBe('settled');
});

it('any other stop, and an early stop that lost its seal, is not', () => {
  expect([1, 2].map((outcome) => stateAfter(outcome, 'Stopped'))).toEqual(['stopped', 'stopped']);
  expect(triggerOf('delivered', 'stopped')).toBe('dispute');
  for (const state of ['Unsealed', 'Undelivered', 'Voided'] as const) {
    expect(stateAfter(3, state)).toBe(state.toLowerCase());
  }
});
