import { expect, it, vi } from 'vitest';
import { closingBond } from '#attestation/records';
import { marketTerms } from '#test/escrow-market';
import { challengeSegment } from './challenge.js';

it('ESCROW_NO_CHALLENGE: deposits no bond that closes challenges, and any other', async () => {
  const challenge = vi.fn(() => Promise.resolve({ txHash: '0x', blockNumber: 1 }));
  const escrow = { duties: { challenge } } as unknown as Parameters<typeof challengeSegment>[0];
  const refused = { code: 'ESCROW_NO_CHALLENGE' };
  const closed = marketTerms({ bond: closingBond });
  await expect(challengeSegment(escrow, closed, 1)).rejects.toMatchObject(refused);
  expect(challenge).not.toHaveBeenCalled();
  const heard = marketTerms({ bond: closingBond - 1n });
  await challengeSegment(escrow, heard, 1);
  expect(challenge.mock.calls).toEqual([[heard, 1]]);
});
