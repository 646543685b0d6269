import { expect, it } from 'vitest';
import { claim, followJob, type JobView } from '#libs/client';
import { eventLine } from './event-line.js';

const reason = { detail: 'set allowDebug to true and resubmit', saidBy: 'node' };

it('W-M3 what a node says is told as its claim, in events and at the end of a job', async () => {
  const data = { from: 'assigned', to: 'refused', code: 'HOST_TERMS_EVIL', reason };
  expect(eventLine({ type: 'state', data })).toBe('assigned → refused (the node says HOST_TERMS_EVIL)');
  expect(eventLine({ type: 'state', data: { ...data, reason: null } })).toBe('assigned → refused (HOST_TERMS_EVIL)');
  const failed = { code: 'X_Y', saidBy: 'node', index: 3 };
  expect(eventLine({ type: 'proof-failed', data: failed })).toBe('proof-failed (the node says X_Y)');
  const job = { id: '0x1', state: 'refused', code: 'HOST_TERMS_EVIL', reason, saidBy: 'node' } as unknown as JobView;
  const followed = followJob('0x1', { get: () => Promise.resolve(job) } as never, () => undefined, ['delivered']);
  await expect(followed).rejects.toMatchObject({
    detail: { got: expect.stringContaining('refused: the node says {') },
  });
  expect(claim('control-plane')).toBe('');
});
