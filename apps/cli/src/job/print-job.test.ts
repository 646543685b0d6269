import { expect, it } from 'vitest';
import { taken } from '../output.js';
import { printJob } from './print-job.js';

type View = Parameters<typeof printJob>[0];

const transaction = `0x${'aa'.repeat(32)}`;
const view: View = {
  ...{ id: '0x01', state: 'settled', code: null, reason: { transaction }, escrowId: '0x02', escrowState: 'settled' },
  ...{ funded: true, datasetId: '0x03', steps: 8, attempt: 1, progress: null, settlementTransaction: transaction },
  ...{ createdAt: '', updatedAt: '' },
};

async function shown(job: View): Promise<string> {
  return (await taken(async () => printJob(job, {})))[0]!.text;
}

it('gives no reason for a job that is paid: the transaction stands in a line of its own', async () => {
  expect(await shown(view)).not.toContain('reason');
  expect(await shown(view)).toContain(`settled by  ${transaction}`);
  expect(await shown({ ...view, state: 'failed', code: 'ESCROW_EXPIRED' })).toContain('reason');
});
