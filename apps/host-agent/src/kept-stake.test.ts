import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { CollateralError } from '#attestation/base';
import { tellKeptStake } from './kept-stake.js';

const away = new CollateralError('CHAIN_UNREACHABLE', { expected: 'a', got: 'b', rule: 'test' });
const kept = [{ token: '0x00', free: 7n, locked: 3n }];

it.each([
  { what: 'says of each token what is free and what is locked', look: async () => kept, said: 1 },
  { what: 'ends where the chain refuses', look: () => Promise.reject(away), said: 0 },
  { what: 'ends where the chain gives no answer', look: () => sleep(60_000, kept, { ref: false }), said: 0 },
])('the last word on stake $what', async ({ look, said }) => {
  const events: unknown[] = [];
  await tellKeptStake({ keptStake: look }, { event: (...event) => void events.push(event) }, 100);
  const line = ['stake-kept', { coin: '0x00', wei: '7', lockedWei: '3' }];
  expect(events).toEqual(said === 1 ? [line] : []);
});
